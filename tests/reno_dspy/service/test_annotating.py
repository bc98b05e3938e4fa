"""`POST /annotate` over real HTTP: what goes in, in each form, and what comes out, in each format."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from reno_dspy.systems.crf.model import Crf
from tests.reno_dspy.service.running import Service

ITO = "Ito K, Oe H. Foxes & geese of Fiction. J Fict Zool. 2010;12(3):200-9. doi:10.5555/x.1"
OE = "Oe H. Geese. Tokyo: Fiction Press; 2011."
LINES = f"1. {ITO}\n\n2. {OE}\r\n"
TEXT = {"content-type": "text/plain; charset=utf-8"}


def ask(service: Service, body: Any, accept: str = "*/*", **headers: str) -> Any:
    sent = {"accept": accept} | (TEXT if isinstance(body, str) else {}) | headers
    extra = {"content": body.encode()} if isinstance(body, str) else {"json": body}
    return service.client.post("/annotate", headers=sent, **extra)


def test_values_with_their_places(crf: Service) -> None:
    found = ask(crf, LINES).json()
    assert found["system"] == "crf"
    first, second = found["references"]
    assert [first["text"], second["text"]] == [f"1. {ITO}", f"2. {OE}"]
    # The system is given the reference alone, as `reno annotate` gives it.
    (alone,) = asyncio.run(Crf().annotate([ITO]))
    xml = alone.text
    assert first["xml"] == xml.replace("<mixed-citation>", "<mixed-citation><label>1.</label> ")
    values = {s["field"]: (first["text"][s["start"] : s["end"]], s["role"]) for s in first["spans"]}
    assert values["label"] == ("1.", None)
    assert values["year"] == ("2010", None)
    assert values["given-names"] == ("H", "author")
    assert values["pub-id"] == ("10.5555/x.1", "doi")
    assert first["error"] is None
    assert alone.confidence is not None
    assert first["confidence"] == round(alone.confidence.whole, 4)
    sure = [span["confidence"] for span in first["spans"] if span["field"] != "label"]
    assert sure == [value["confidence"] for value in alone.confidence.to_json()["values"]]
    assert set(first) == {"text", "publication_type", "xml", "confidence", "spans", "error"}
    assert set(first["spans"][0]) == {"start", "end", "field", "role", "confidence"}


@pytest.mark.parametrize(
    "body", [[f"1. {ITO}", f"2. {OE}"], {"references": [f"1. {ITO}", f"2. {OE}"]}]
)
def test_lines_and_lists(crf: Service, body: Any) -> None:
    assert ask(crf, body).json() == ask(crf, LINES).json()


def test_the_list_of_a_pdf_as_body_and_as_upload(crf: Service, shared: Path) -> None:
    pdf = shared / "data" / "pairs" / "pmc_PMC4575751.pdf"
    content = pdf.read_bytes()
    answer = crf.client.post(
        "/annotate", content=content, headers={"content-type": "application/pdf"}
    )
    gold = etree.parse(pdf.with_suffix(".xml"))
    found = answer.json()["references"]
    assert len(found) >= 0.9 * len(gold.findall(".//{*}ref"))
    uploaded = crf.client.post("/annotate", files={"file": ("a.pdf", content)})
    assert uploaded.json()["references"] == found


def test_formats_by_accept(crf: Service, jats: etree.DTD) -> None:
    for kind in ("application/xml", "application/jats+xml"):
        answer = ask(crf, LINES, kind)
        assert answer.headers["content-type"].startswith(kind)
        refs = etree.fromstring(answer.content)
        assert jats.validate(refs), jats.error_log
        assert ["".join(one.itertext()) for one in refs] == [f"1. {ITO}", f"2. {OE}"]
    items = ask(crf, LINES, "application/vnd.citationstyles.csl+json").json()
    assert [item["issued"]["date-parts"][0][0] for item in items] == [2010, 2011]
    assert "@article{ito2010foxes," in ask(crf, LINES, "application/x-bibtex").text
    assert ask(crf, LINES, "application/x-research-info-systems").text.count("ER  - ") == 2
    assert ask(crf, LINES, "text/html;q=0.9, application/xml;q=0.1").text.startswith("<?xml")
    assert ask(crf, LINES, "image/png").status_code == 406


def test_a_long_list_comes_line_by_line(crf: Service) -> None:
    texts = [f"Ito K. Foxes {n}. J Fict Zool. 2010;12(3):{n}." for n in range(1_500)]
    assert ask(crf, texts).status_code == 413
    lines = ask(crf, texts, "application/x-ndjson").text.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["text"] for row in rows] == texts
    assert rows[0] == ask(crf, texts[:1]).json()["references"][0]


def test_requests_at_once_get_their_own_answers_in_shared_batches(crf: Service) -> None:
    texts = [f"Ito K. Foxes {n}. J Fict Zool. 2010;12(3):{n}." for n in range(64)]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda text: ask(crf, text).json()["references"], texts))
    assert [one["text"] for (one,) in found] == texts
    metrics = crf.client.get("/metrics").text
    sizes = {
        line.split()[0]: float(line.split()[1]) for line in metrics.splitlines() if line[0] != "#"
    }
    assert sizes["reno_batch_references_sum"] > sizes["reno_batch_references_count"]
    assert sizes["reno_waiting_references"] == 0
    assert 'reno_requests_total{route="/annotate",status="200"}' in sizes


def test_one_bad_reference_is_one_row_with_an_error(crf: Service) -> None:
    long = "x" * 10_000
    body = json.dumps([ITO, long, "a\x00b", "\ud800", OE])
    rows = ask(crf, body, **{"content-type": "application/json"}).json()["references"]
    assert [row["error"] is None for row in rows] == [True, False, False, False, True]
    assert "10,000 characters are no reference (at most 5,000)" in rows[1]["error"]
    assert rows[1]["xml"] is None
    assert rows[3]["text"] == "\ufffd"


@pytest.mark.parametrize(
    ("content", "kind", "status", "sentence"),
    [
        (b"Ito", "application/zip", 415, "The body must be one of text/plain, application/json"),
        (b"", "text/plain", 422, "The body holds no references."),
        (b" \n\n", "text/plain", 422, "The body holds no references."),
        (b"Ito \xff", "text/plain", 422, "The body is not UTF-8 (byte 4)."),
        (b"{", "application/json", 422, "The body is not JSON."),
        (b"[" * 100_000, "application/json", 422, "The body is not JSON."),
        (b"[1]", "application/json", 422, "The JSON must be a list of strings"),
        (b'{"text": "a"}', "application/json", 422, "The JSON must be a list of strings"),
        (b"Ito", "application/pdf", 422, "The file is not a PDF."),
        (b"%PDF-1.4 nothing", "application/pdf", 422, "The PDF cannot be read: damaged PDF"),
        (b"--x--\r\n", "multipart/form-data; boundary=x", 422, "The form has no file."),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_a_sentence(
    crf: Service, content: bytes, kind: str, status: int, sentence: str
) -> None:
    answer = crf.client.post("/annotate", content=content, headers={"content-type": kind})
    assert answer.status_code == status
    assert answer.json()["detail"].startswith(sentence)


def test_the_interface_describes_itself(crf: Service) -> None:
    found = crf.client.get("/openapi.json").json()
    operation = found["paths"]["/annotate"]["post"]
    assert set(operation["requestBody"]["content"]) >= {"text/plain", "application/pdf"}
    assert "spans" in found["components"]["schemas"]["AnnotatedReference"]["properties"]
