"""GROBID's interface, asked by GROBID's own client and by ours, over real HTTP."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from reno_dspy.data.dataset import load
from reno_dspy.jats.citation import parse, read_values
from reno_dspy.systems.crf.model import Crf
from reno_dspy.systems.grobid.client import Grobid
from tests.reno_dspy.service.running import Service

TEI = {"t": "http://www.tei-c.org/ns/1.0"}
ITO = "Ito K, Oe H. Foxes & geese of Fiction. J Fict Zool. 2010;12(3):200-9. doi:10.5555/x.1"
OE = "Oe H. Geese. Tokyo: Fiction Press; 2011."


def ask(service: Service, name: str, accept: str = "application/xml", **form: Any) -> Any:
    return service.client.post(f"/api/{name}", data=form, headers={"accept": accept})


def test_alive_and_of_a_version(crf: Service) -> None:
    assert crf.client.get("/api/isalive").text == "true"
    assert re.fullmatch(r"reno-dspy-[\w.]+-[0-9a-f]{12}", crf.client.get("/api/version").text)


def test_one_citation_as_tei(crf: Service) -> None:
    answer = ask(crf, "processCitation", citations=ITO, includeRawCitations="1")
    assert answer.headers["content-type"].startswith("application/xml")
    assert "x-consolidation" not in answer.headers
    bibl = etree.fromstring(answer.content)
    assert bibl.tag == "biblStruct"
    assert bibl.findtext("analytic/title[@level='a']") == "Foxes & geese of Fiction"
    names = [
        [(part.tag, part.get("type"), part.text) for part in name] for name in bibl.iter("persName")
    ]
    assert names[0] == [("forename", "first", "K"), ("surname", None, "Ito")]
    assert bibl.findtext("analytic/idno[@type='DOI']") == "10.5555/x.1"
    assert bibl.find("monogr/title").get("level") == "j"
    imprint = bibl.find("monogr/imprint")
    assert imprint.findtext("biblScope[@unit='volume']") == "12"
    assert imprint.findtext("biblScope[@unit='issue']") == "3"
    assert dict(imprint.find("biblScope[@unit='page']").attrib) == {
        "unit": "page", "from": "200", "to": "9",
    }  # fmt: skip
    assert imprint.find("date").get("when") == "2010"
    assert bibl.findtext("note[@type='raw_reference']") == ITO


def test_a_list_keeps_its_length_and_order(crf: Service) -> None:
    answer = ask(
        crf, "processCitationList", citations=[ITO, "", "x" * 6_000, OE], consolidateCitations="1"
    )
    assert "looks nothing up" in answer.headers["x-consolidation"]
    found = etree.fromstring(answer.content).findall(".//t:listBibl/t:biblStruct", TEI)
    assert [bool(one.findall(".//t:surname", TEI)) for one in found] == [True, False, False, True]
    assert "are no reference" in found[2].findtext("t:note[@type='error']", None, TEI)


def test_bibtex_and_nothing(crf: Service) -> None:
    text = ask(crf, "processCitationList", "application/x-bibtex", citations=[ITO, OE]).text
    assert re.findall(r"@\w+{(\w+)", text)[0] == "ito2010foxes"
    assert ask(crf, "processCitation", citations=" ").status_code == 204
    assert ask(crf, "processCitation").status_code == 204
    broken = crf.client.post("/api/processReferences", files={"input": ("a.pdf", b"no PDF")})
    assert (broken.status_code, broken.json()["detail"]) == (400, "The file is not a PDF.")


def test_grobids_client_reads_a_folder_of_pdfs_and_a_list(
    crf: Service, shared: Path, tmp_path: Path
) -> None:
    client_module = pytest.importorskip("grobid_client.grobid_client")
    pdfs = tmp_path / "pdfs"
    pdfs.mkdir()
    names = ("pmc_PMC4575751", "scielo_rsp_56_85", "excite_41980")
    for name in names:
        shutil.copy(shared / "data" / "pairs" / f"{name}.pdf", pdfs)
    client = client_module.GrobidClient(grobid_server=crf.url)
    client.process(
        "processReferences", str(pdfs), output=str(tmp_path / "out"), n=3,
        include_raw_citations=True, consolidate_citations=True,
    )  # fmt: skip
    for name in names:
        tei = etree.parse(tmp_path / "out" / f"{name}.grobid.tei.xml")
        gold = etree.parse(shared / "data" / "pairs" / f"{name}.xml")
        found = tei.findall(".//t:biblStruct", TEI)
        assert len(found) >= 0.9 * len(gold.findall(".//{*}ref"))
        assert all(one.findtext("t:note[@type='raw_reference']", None, TEI) for one in found)
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "refs.txt").write_text(f"{ITO}\n{OE}\n", encoding="utf-8")
    client.process("processCitationList", str(lists), output=str(tmp_path / "out"))
    (written,) = (tmp_path / "out").glob("refs*.xml")
    surnames = [one.text for one in etree.parse(written).iterfind(".//t:surname", TEI)]
    assert surnames[:2] == ["Ito", "Oe"]


def test_our_client_gets_the_values_of_the_system_itself(crf: Service, shared: Path) -> None:
    """All of the scored fields: of those with one place in TEI, the first value; of people, everybody."""
    rows = [
        row
        for name in ("ore", "scielo", "excite")
        for row in load(str(shared / "data" / "refs" / f"{name}.jsonl.gz"), limit=60).rows
    ]
    references = [row.plaintext for row in rows]
    direct = asyncio.run(Crf().annotate(references))
    over_http = asyncio.run(Grobid(crf.url).annotate(references))
    for reference, here, there in zip(references, direct, over_http, strict=True):
        assert there.error is None
        ours, theirs = read_values(parse(here.text)), read_values(parse(there.text))
        for field, values in ours.items():
            if field in ("surname", "given-names"):
                assert Counter(theirs[field]) == Counter(filter(None, values)), reference
            elif field != "article-title":
                assert theirs[field] == tuple(filter(None, values))[:1], reference
        titles = read_values(parse(here.text), ("article-title", "chapter-title"))
        title = next(filter(None, (*titles["article-title"], *titles["chapter-title"])), None)
        assert theirs["article-title"] == ((title,) if title else ()), reference
