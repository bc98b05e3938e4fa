"""Files of annotations in their three forms: a JATS `<ref-list>`, JSON lines, CSL-JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

from lxml import etree

from reno_dspy.base.files import replacing
from reno_dspy.jats.citation import parse
from reno_dspy.jats.csl import to_csl
from reno_dspy.jats.ref_list import ref
from reno_dspy.systems import ValueJson

Form = Literal["jats", "jsonl", "csl"]
_FRAMES: Mapping[Form, tuple[str, str, str]] = {
    "jats": ('<?xml version="1.0" encoding="UTF-8"?>\n<ref-list>\n', "", "</ref-list>\n"),
    "jsonl": ("", "", ""),
    "csl": ("[\n", ",\n", "\n]\n"),
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


def write_answers(path: Path, form: Form, answers: Iterable[Answer]) -> tuple[int, int]:
    """Write `answers` whole or not at all, one by one; return how many, and how many have an error."""
    total = failed = 0

    def counted() -> Iterator[Answer]:
        nonlocal total, failed
        for answer in answers:
            total, failed = total + 1, failed + (answer["error"] is not None)
            yield answer

    with replacing(path, "w") as file:
        file.writelines(written(form, counted()))
    return total, failed


def written(form: Form, answers: Iterable[Answer]) -> Iterator[str]:
    """The content of a file of `answers`, piece by piece."""
    begin, between, end = _FRAMES[form]
    yield begin
    for number, answer in enumerate(answers, start=1):
        yield (between if number > 1 else "") + _shown(form, number, answer)
    yield end


def _shown(form: Form, number: int, answer: Answer) -> str:
    label, text = answer["label"], answer["text"]
    annotation, error = answer["annotation"], answer["error"]
    if form == "jats":
        return ref(number, label, text, annotation, error)
    if form == "jsonl":
        row = {
            "reference": label + text,
            "annotation": annotation and with_label(annotation, label),
            "error": error,
            "confidence": answer.get("confidence"),
            "values": answer.get("values"),
        }
        said = {"completion": answer["completion"]} if "completion" in answer else {}
        return _json(row | said) + "\n"
    item_id = f"ref{number}"
    if annotation:
        return _json(to_csl(annotation, item_id))
    return _json({"id": item_id, "type": "document", "title": text, "note": error})


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
