"""Files of annotations: a JATS `<ref-list>`, JSON lines, CSL-JSON, BibTeX, RIS."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypedDict

from lxml import etree

from reno_dspy.annotate.marking import marked
from reno_dspy.base.files import replacing
from reno_dspy.jats.bibtex import BibtexEntries
from reno_dspy.jats.citation import parse
from reno_dspy.jats.csl import to_csl
from reno_dspy.jats.ref_list import ref
from reno_dspy.jats.ris import record
from reno_dspy.systems import ValueJson

Form = Literal["jats", "jats-elements", "jsonl", "csl", "bibtex", "ris"]
# The form of a file by the end of its name; of all others it is JATS.
SUFFIXES: Mapping[str, Form] = {".bib": "bibtex", ".ris": "ris", ".jsonl": "jsonl"}
_LIST = ('<?xml version="1.0" encoding="UTF-8"?>\n<ref-list>\n', "", "</ref-list>\n")
# What stands before, between and after the references.
_FRAMES: Mapping[Form, tuple[str, str, str]] = {
    "jats": _LIST,
    "jats-elements": _LIST,
    "jsonl": ("", "", ""),
    "csl": ("[\n", ",\n", "\n]\n"),
    "bibtex": ("", "\n", ""),
    "ris": ("", "", ""),
}
# Many readers of JSON lines take these for ends of lines.
_LINE_END = re.compile("[\x85\u2028\u2029]")


class Answer(TypedDict, total=False):
    """What is known of one reference.

    `label` (with the white space after it) and `text` are the reference; `annotation` is of the text
    alone, None where `error` says why there is none; `completion` is then what the system said.
    `confidence` and `values` are those of `systems.Confidence.to_json`, absent where the system has none.
    """

    label: str
    text: str
    annotation: str | None
    error: str | None
    completion: str
    confidence: float
    values: list[ValueJson]


def write_answers(
    path: Path,
    form: Form,
    answers: Iterable[Answer],
    *,
    numbers: Iterable[int] | None = None,
    confidence: bool = False,
) -> tuple[int, int]:
    """Write `answers` whole or not at all, one by one; return how many, and how many have an error.

    `numbers` and `confidence` are those of `written`.
    """
    total = failed = 0

    def counted() -> Iterator[Answer]:
        nonlocal total, failed
        for answer in answers:
            total, failed = total + 1, failed + (answer["error"] is not None)
            yield answer

    with replacing(path, "w") as file:
        file.writelines(written(form, counted(), numbers=numbers, confidence=confidence))
    return total, failed


def written(
    form: Form,
    answers: Iterable[Answer],
    *,
    numbers: Iterable[int] | None = None,
    confidence: bool = False,
) -> Iterator[str]:
    """The content of a file of `answers`, piece by piece.

    `numbers` are those of the references (1, 2, ...), from which ids are made. `confidence` writes what
    is known of each value into JATS and CSL-JSON as well; JSON lines always have it.
    """
    begin, between, end = _FRAMES[form]
    show = _shown_as(form, confidence)
    yield begin
    before = ""
    # The answers first, whose end is then seen: what gives them may have something left to do.
    for answer, number in zip(answers, numbers or count(1), strict=False):
        yield before + show(number, answer)
        before = between
    yield end


def _shown_as(form: Form, confidence: bool) -> Callable[[int, Answer], str]:
    """What shows the answer to a reference in a new file, by its number."""
    if form == "jsonl":
        return lambda _, answer: _row(answer)
    if form == "csl":
        return lambda number, answer: _json(_item(number, answer, confidence))
    if form == "bibtex":
        entries = BibtexEntries()
        return lambda number, answer: entries.entry(_item(number, answer))
    if form == "ris":
        return lambda number, answer: record(_item(number, answer))
    both = form == "jats-elements"
    return lambda number, answer: _ref(number, answer, both, confidence)


def _ref(number: int, answer: Answer, both: bool, confidence: bool) -> str:
    annotation, whole = answer["annotation"], answer.get("confidence")
    line = ref(
        number, answer["label"], answer["text"], annotation, answer["error"], with_elements=both
    )
    if not confidence or annotation is None or whole is None:
        return line
    return marked(line, whole, answer["values"])


def _row(answer: Answer) -> str:
    label, annotation = answer["label"], answer["annotation"]
    row = {
        "reference": label + answer["text"],
        "annotation": annotation and with_label(annotation, label),
        "error": answer["error"],
        "confidence": answer.get("confidence"),
        "values": answer.get("values"),
    }
    said = {"completion": answer["completion"]} if "completion" in answer else {}
    return _json(row | said) + "\n"


def _item(number: int, answer: Answer, confidence: bool = False) -> dict[str, Any]:
    """The CSL-JSON item of an answer; of a failed one, its text is the title and the reason a note."""
    item_id, annotation = f"ref{number}", answer["annotation"]
    if annotation:
        item = to_csl(annotation, item_id)
        if confidence and "confidence" in answer:
            item["custom"] = {"confidence": answer["confidence"], "values": answer["values"]}
        return item
    text = answer["text"]
    return {"id": item_id, "type": "document", "title": text, "note": answer["error"]}


def with_label(annotation: str, label: str) -> str:
    """The annotation of a whole reference, its label inside."""
    if not label:
        return annotation
    root = parse(annotation)
    element = etree.Element("label")
    element.text = label.rstrip()
    element.tail = label[len(element.text) :] + (root.text or "")
    root.text = None
    root.insert(0, element)
    xml: str = etree.tostring(root, encoding="unicode")
    return xml


def _json(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _LINE_END.sub(lambda end: f"\\u{ord(end.group()):04x}", text)
