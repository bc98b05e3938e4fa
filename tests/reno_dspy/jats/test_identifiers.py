"""Identifiers and addresses by their form."""

import pytest

from reno_dspy.jats.elements import PUB_ID_TYPES
from reno_dspy.jats.identifiers import PERSISTENT, has_pid, identifiers, kind_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Annals 8. https://doi.org/10.5555/12.", [("doi", "10.5555/12")]),
        ("Annals. doi: http://dx.doi.org/10.5555/a1. Epub", [("doi", "10.5555/a1")]),
        ("doi:10.5555/a(b)c).", [("doi", "10.5555/a(b)c")]),
        ("https://a.example/b.pdf．（参照 2022-09-22）", [("uri", "https://a.example/b.pdf")]),
        ("DOI：10.5555/a1（中）", [("doi", "10.5555/a1")]),
        ("[doi>10.5555/ARES.2013.50]", [("doi", "10.5555/ARES.2013.50")]),
        (
            "10.1002/1097-0142(195607/08)9:4<822::AID-CNCR282>3.0.CO;2-4.",
            [("doi", "10.1002/1097-0142(195607/08)9:4<822::AID-CNCR282>3.0.CO;2-4")],
        ),
        ("7:676.10.3389/fpls.2016.00676", [("doi", "10.3389/fpls.2016.00676")]),
        ("arXiv preprint arXiv:2101.00001v2.", [("arxiv", "2101.00001v2")]),
        ("CoRR, abs/1409.0473", [("arxiv", "1409.0473")]),
        ("arXiv: hep-th/9901001 [hep-th]", [("arxiv", "hep-th/9901001")]),
        ("Phys. Rev. [hep-ph/0104148]", [("arxiv", "hep-ph/0104148")]),
        ("https://arxiv.org/abs/1706.03762", [("arxiv", "1706.03762")]),
        ("PubMed PMID: 34734268. PMCID: PMC12345.", [("pmid", "34734268"), ("pmcid", "PMC12345")]),
        ("https://pubmed.ncbi.nlm.nih.gov/123456/", [("pmid", "123456")]),
        ("ISBN 978-3-16-148410-0.", [("isbn", "978-3-16-148410-0")]),
        ("E-ISSN: 1533-489X (Scopus)", [("issn", "1533-489X")]),
        ("https://hdl.handle.net/10568/12, p. 3", [("handle", "10568/12")]),
        ("urn:nbn:de:101-2014", [("urn", "urn:nbn:de:101-2014")]),
        ("<http://www.example.org/a>.", [("uri", "http://www.example.org/a")]),
        ("(https://example.org/a_(b)).", [("uri", "https://example.org/a_(b)")]),
        ("https://example.org/doi/10.5555/12", [("uri", "https://example.org/doi/10.5555/12")]),
        ("v. 10.1, p. 20, 2001, 12(3):200-9, PMC2020 conference", []),
    ],
)
def test_identifiers(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(one.kind, text[one.start : one.end]) for one in identifiers(text)] == expected


def test_where_the_name_or_the_address_begins() -> None:
    text = "See https://doi.org/10.5555/12 and PMID: 22222."
    assert [text[i.printed : i.start] for i in identifiers(text)] == ["https://doi.org/", "PMID: "]


def test_a_doi_in_any_address_is_persistent() -> None:
    assert has_pid("https://example.org/doi/10.5555/12")
    assert not has_pid("https://example.org/page ISBN 978-3-16-148410-0")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("10.5555/12", "doi"),
        ("doi: 10. 5555/ 12", "doi"),
        ("PMC123456", "pmcid"),
        ("30881699", "pmid"),
        ("arXiv:2101.00001", "arxiv"),
        ("hep-th/9901001", "arxiv"),
        ("978-3-16-148410-0", "isbn"),
        ("ISBN: 0486653633", "isbn"),
        ("1533-4899", "issn"),
        ("10568/12", "handle"),
        ("NBR 13818", "other"),
    ],
)
def test_kinds_of_values(value: str, kind: str) -> None:
    assert kind_of(value) == kind
    assert kind in PUB_ID_TYPES


def test_the_lm_is_asked_for_the_same_identifiers() -> None:
    describe = pytest.importorskip("programs.describe")
    asked = describe.HasPid.__doc__.lower()
    assert all(name in asked for name in PERSISTENT)
    assert "isbn, an issn or a plain web address is none" in " ".join(asked.split())
