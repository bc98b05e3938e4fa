"""Language and identifiers of a reference, without an LM."""

import pytest

from reno_dspy.build.describe import has_pid, languages, title_of
from reno_dspy.jats.citation import parse


@pytest.mark.parametrize(
    ("title", "code"),
    [
        ("The memory of lanterns in northern harbours", "en"),
        ("A memória das lanternas nos portos do norte", "pt"),
        ("La memoria de los faroles en los puertos del norte", "es"),
        ("La mémoire des lanternes dans les ports du nord", "fr"),
        ("Das Gedächtnis der Laternen in nördlichen Häfen", "de"),
        ("La memoria delle lanterne nei porti del nord", "it"),
        ("Память фонарей в северных гаванях", "ru"),
        ("北方港口的灯笼记忆", "zh"),
    ],
)
def test_the_papers_eight_languages(title: str, code: str) -> None:
    found = languages([title])[0]
    assert found.code == code
    assert 0 < found.confidence <= 1


def test_a_text_without_letters_has_no_sure_language() -> None:
    assert [found.confidence for found in languages(["123", ""])] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("plaintext", "expected"),
    [
        ("Annals 8, 12. doi:10.5555/abc.1", True),
        ("Annals 8. https://doi.org/10.5555/12", True),
        ("arXiv:2101.00001", True),
        ("arXiv preprint arXiv: hep-th/9901001", True),
        ("PMID: 123456", True),
        ("https://hdl.handle.net/10/12", True),
        ("urn:nbn:de:101-2014", True),
        ("ISBN 978-3-16-148410-0", False),
        ("https://example.org/page", False),
        ("v. 10.1, p. 20", False),
    ],
)
def test_identifiers(plaintext: str, expected: bool) -> None:
    assert has_pid(plaintext, parse("<mixed-citation/>")) == expected


def test_an_identifier_in_the_annotation_counts() -> None:
    xml = '<mixed-citation><pub-id pub-id-type="{}">1</pub-id></mixed-citation>'
    assert has_pid("", parse(xml.format("pmid")))
    assert not has_pid("", parse(xml.format("publisher-id")))


def test_the_title_is_the_articles_before_the_sources() -> None:
    xml = "<c><source>Annals</source><article-title>Lanterns</article-title></c>"
    assert title_of(parse(xml)) == "Lanterns"
    assert title_of(parse("<c><source>Annals</source></c>")) == "Annals"
    assert title_of(parse("<c/>")) == ""
