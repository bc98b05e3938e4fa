"""Annotating files of references: streamed, resumed, and written in three forms."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from reno_dspy.annotate import job as module
from reno_dspy.annotate.job import AnnotateConfig, annotate
from reno_dspy.annotate.log import locked_log
from reno_dspy.annotate.review import Written
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.jats.csl import to_csl
from reno_dspy.jats.elements import SCORED
from reno_dspy.jats.spans import render
from reno_dspy.systems import Completion
from reno_dspy.systems.crf.model import Crf


class Killed(Exception):
    """The process dies here."""


class Plain:
    """Wraps each reference in an element; some fail, some come out malformed."""

    name = "plain"
    batch_size = 3
    concurrency = 2

    def __init__(self, die_after: int = 10**9) -> None:
        self.starts = 0
        self.seen: list[str] = []
        self.die_after = die_after

    def identity(self) -> Mapping[str, str]:
        return {"model": "plain"}

    async def start(self) -> None:
        await asyncio.sleep(0.01)  # the others of several workers would come past here
        self.starts += 1

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        assert self.starts
        if len(self.seen) >= self.die_after:
            raise Killed
        self.seen += references
        return [self._one(reference) for reference in references]

    def _one(self, reference: str) -> Completion:
        if "fail" in reference:
            return Completion("", error="HTTP 500")
        if "broken" in reference:
            return Completion("<mixed-citation>")
        try:
            return Completion(render(reference, []))
        except ValueError as error:
            return Completion("", error=str(error))


def config(out: Path, **options: Any) -> AnnotateConfig:
    return AnnotateConfig(input="-", out=out, system="plain", **options)


REFERENCES = [f"Ito {'K' * (i % 5)}. Foxes & <sons> {i}." for i in range(20)]


def cut(out: Path) -> list[str]:
    """Leave an unfinished job for `out`; the references that were answered."""
    system = Plain(die_after=8)
    with pytest.raises(Killed):
        annotate(config(out), system, REFERENCES)
    return system.seen


def test_jats_keeps_every_reference_in_order(tmp_path: Path) -> None:
    out = tmp_path / "refs.xml"
    references = [*REFERENCES, "please fail \x01 & so", "broken"]
    assert annotate(config(out), Plain(), references) == Written(22, 2)
    root = etree.parse(out).getroot()
    assert root.tag == "ref-list"
    assert ["".join(ref.itertext()) for ref in root] == [
        *REFERENCES,
        "please fail \ufffd & so",
        "broken",
    ]
    assert [ref.get("id") for ref in root][:2] == ["ref1", "ref2"]
    assert [path.name for path in tmp_path.iterdir()] == ["refs.xml"]


def test_the_system_starts_once_before_any_worker_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WINDOW", 5)
    system = Plain()
    annotate(config(tmp_path / "refs.xml", concurrency=4), system, REFERENCES)
    assert (system.starts, len(system.seen)) == (1, len(REFERENCES))


def test_a_system_that_does_not_start_leaves_nothing(tmp_path: Path) -> None:
    class Broken(Plain):
        async def start(self) -> None:
            raise JobError("Nothing answers there.")

        def identity(self) -> Mapping[str, str]:
            return {"model": "broken"}

    with pytest.raises(JobError, match="Nothing answers"):
        annotate(config(tmp_path / "refs.xml"), Broken(), REFERENCES)
    assert annotate(config(tmp_path / "refs.xml"), Plain(), REFERENCES) == Written(
        len(REFERENCES), 0
    )


def test_json_lines_carry_errors_and_raw_answers(tmp_path: Path) -> None:
    out = tmp_path / "refs.jsonl"
    annotate(config(out, format="jsonl"), Plain(), ["a", "fail", "broken"])
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert rows[0] == {
        "reference": "a",
        "annotation": "<mixed-citation>a</mixed-citation>",
        "error": None,
        "confidence": None,
        "values": None,
    }
    assert rows[1]["error"] == "HTTP 500"
    assert rows[2]["error"].startswith("malformed XML")
    assert rows[2]["completion"] == "<mixed-citation>"


def test_json_lines_tell_how_sure_a_system_is_of_each_value(tmp_path: Path) -> None:
    out = tmp_path / "refs.jsonl"
    text = "1. Ito K. Foxes & geese. J Fict Zool. 2010;12(3):200-9."
    annotate(config(out, format="jsonl"), Crf(), [text])
    row = json.loads(out.read_text())
    leaves = [one for one in etree.fromstring(row["annotation"]).iter() if not len(one)]
    assert [(one["field"], one["value"]) for one in row["values"]] == [
        (leaf.tag, leaf.text) for leaf in leaves
    ]
    known = {one["field"]: one["confidence"] for one in row["values"]}
    assert known.pop("label") is None
    assert 0 < row["confidence"] <= min(known[field] for field in SCORED) <= 1


def test_a_killed_job_resumes_without_loss_or_repeats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WINDOW", 4)
    annotate(config(tmp_path / "whole.xml"), Plain(), REFERENCES)
    answered = cut(tmp_path / "cut.xml")
    assert 8 <= len(answered) < len(REFERENCES)
    assert not (tmp_path / "cut.xml").exists()
    again = Plain()
    annotate(config(tmp_path / "cut.xml"), again, REFERENCES)
    assert sorted(again.seen + answered) == sorted(REFERENCES)
    assert (tmp_path / "cut.xml").read_bytes() == (tmp_path / "whole.xml").read_bytes()


def test_other_input_does_not_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WINDOW", 4)
    out = tmp_path / "cut.xml"
    cut(out)
    with pytest.raises(InputError, match="with other references"):
        annotate(config(out), Plain(), REFERENCES[1:])
    other = Plain()
    other.name = "other"
    with pytest.raises(InputError, match="unfinished job with plain"):
        annotate(config(out), other, REFERENCES)


def test_csl_of_an_article_and_a_chapter(tmp_path: Path) -> None:
    article = (
        '<mixed-citation publication-type="journal"><person-group person-group-type="author">'
        "<string-name><surname>Ito</surname> <given-names>K</given-names></string-name>, "
        "<collab>Fox Group</collab></person-group>. <article-title>Foxes</article-title>. "
        "<source>J Fict</source>. <year>2010</year> <month>Jun</month>;<volume>3</volume>:"
        '<fpage>1</fpage>-<lpage>9</lpage>. <issue/><pub-id pub-id-type="pmid">123456</pub-id> '
        '<pub-id pub-id-type="doi">10.5555/x.1</pub-id>.'
        "</mixed-citation>"
    )
    assert to_csl(article, "r1") == {
        "id": "r1", "type": "article-journal", "title": "Foxes", "container-title": "J Fict",
        "volume": "3", "page": "1-9", "DOI": "10.5555/x.1", "PMID": "123456",
        "issued": {"date-parts": [[2010]]},
        "author": [{"family": "Ito", "given": "K"}, {"literal": "Fox Group"}],
    }  # fmt: skip
    book = (
        '<mixed-citation publication-type="book"><source>Foxes</source> <year>s.d.</year>'
        "</mixed-citation>"
    )
    assert to_csl(book, "r2") == {
        "id": "r2", "type": "book", "title": "Foxes", "issued": {"raw": "s.d."},
    }  # fmt: skip
    untyped = book.replace(' publication-type="book"', "")
    assert to_csl(untyped, "r3")["type"] == "document"
    press = untyped.replace("</mixed", "<publisher-name>Den</publisher-name></mixed")
    assert to_csl(press, "r3")["type"] == "book"
    assert to_csl(article.replace('="journal"', '=""'), "r1")["type"] == "article-journal"
    out = tmp_path / "refs.json"
    annotate(config(out, format="csl"), Plain(), ["a", "fail"])
    items = json.loads(out.read_text())
    assert [item["id"] for item in items] == ["ref1", "ref2"]
    assert items[1]["note"] == "HTTP 500"


@pytest.mark.parametrize(
    ("name", "form", "begin"),
    [
        ("refs.bib", None, "@misc{"),
        ("refs.RIS", None, "TY  - GEN\n"),
        ("refs.jsonl", None, '{"reference": "a"'),
        ("refs.out", None, "<?xml"),
        ("refs.bib", "jats-elements", "<?xml"),
    ],
)
def test_the_name_of_the_output_chooses_its_format(
    tmp_path: Path, name: str, form: str | None, begin: str
) -> None:
    out = tmp_path / name
    annotate(config(out, format=form), Plain(), ["a", "fail"])
    assert out.read_text().startswith(begin)


def test_failures_stop_the_job_keep_the_log_and_are_tried_again(tmp_path: Path) -> None:
    out = tmp_path / "refs.jsonl"
    references = [f"{'fail' if i % 3 else 'good'} {i}" for i in range(60)]
    with pytest.raises(JobError, match=r"more than --max-errors 0\.2 allows"):
        annotate(config(out, format="jsonl"), Plain(), references)
    assert not out.exists()

    class Mended(Plain):
        def _one(self, reference: str) -> Completion:
            return Completion(render(reference, []))

    again = Mended()
    assert annotate(config(out, format="jsonl"), again, references) == Written(60, 0)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["reference"] for row in rows] == references
    assert len(again.seen) < 60


def test_an_xml_declaration_does_not_spoil_the_list(tmp_path: Path) -> None:
    class Declaring(Plain):
        def _one(self, reference: str) -> Completion:
            return Completion(f'<?xml version="1.0"?>\n{render(reference, [])}')

    annotate(config(tmp_path / "refs.xml"), Declaring(), ["a", "b"])
    assert len(etree.parse(tmp_path / "refs.xml").getroot()) == 2


def test_labels_are_kept_from_the_system_and_stay_in_the_output(tmp_path: Path) -> None:
    references = ["[1] Ito K. Foxes.", "[2] fail", "[3] Oe H. Geese."]
    system = Plain()
    out = tmp_path / "refs.jsonl"
    annotate(config(out, format="jsonl", max_errors=1), system, references)
    assert sorted(system.seen) == ["Ito K. Foxes.", "Oe H. Geese.", "fail"]
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["reference"] for row in rows] == references
    assert (
        rows[0]["annotation"] == "<mixed-citation><label>[1]</label> Ito K. Foxes.</mixed-citation>"
    )
    annotate(config(tmp_path / "refs.xml"), Plain(), references)
    refs = etree.parse(tmp_path / "refs.xml").getroot()
    assert ["".join(ref.itertext()) for ref in refs] == references
    assert [ref.findtext("label") for ref in refs] == ["[1]", "[2]", "[3]"]


def test_a_job_has_one_process_and_fresh_forgets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WINDOW", 4)
    out = tmp_path / "refs.xml"
    cut(out)
    with (
        locked_log(out, fresh=False),
        pytest.raises(InputError, match=f"is in use by process {os.getpid()} on "),
    ):
        annotate(config(out), Plain(), REFERENCES, fresh=True)
    system = Plain()
    annotate(config(out), system, REFERENCES, fresh=True)
    assert len(system.seen) == len(REFERENCES)


def test_resuming_with_fewer_references_or_another_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WINDOW", 4)
    cut(tmp_path / "refs.xml")
    with pytest.raises(InputError, match="with more references"):
        annotate(config(tmp_path / "refs.xml"), Plain(), REFERENCES[:5])
    for text, said in (("not ours\n", ":1 is not JSON"), ('{"a": 1}\n', "is no log of")):
        (tmp_path / "refs.xml.partial").write_text(text)
        with pytest.raises(InputError, match=said):
            annotate(config(tmp_path / "refs.xml"), Plain(), REFERENCES)
        assert (tmp_path / "refs.xml.partial").read_text() == text
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="is not a file"):
        annotate(config(tmp_path / "folder"), Plain(), REFERENCES)
    with pytest.raises(InputError, match="Cannot write"):
        annotate(config(tmp_path / "refs.xml.partial" / "refs.xml"), Plain(), REFERENCES)


def test_what_a_killed_write_left_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / ".refs.xml.123.tmp").write_text("<ref-list>")
    annotate(config(tmp_path / "refs.xml"), Plain(), REFERENCES)
    assert [path.name for path in tmp_path.iterdir()] == ["refs.xml"]


def test_a_few_unfit_lines_are_rows_and_no_verdict(tmp_path: Path) -> None:
    out = tmp_path / "refs.jsonl"
    unfit = ["\x01", "\udcff bytes", "x" * 5_001]
    system = Plain()
    references = [unfit[i % 3] if i % 4 == 0 else f"good {i}" for i in range(100)]
    assert annotate(config(out, format="jsonl"), system, references) == Written(100, 25)
    assert len(system.seen) == 75
    errors = [json.loads(line)["error"] for line in out.read_text().splitlines()]
    assert "cannot stand in XML" in errors[0]
    assert "0xFF at character 0 is not UTF-8" in errors[4]
    assert "5,001 characters are no reference" in errors[8]
