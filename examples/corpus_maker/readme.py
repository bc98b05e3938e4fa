"""The corpus's tables: corpus.tsv, flaws.tsv and README.md."""

from collections import Counter

from .article import Article

INTRO = """# Sample corpus

Written by `python examples/make_corpus.py` (never edit these files by hand). Short articles as PDF and
JATS, one platform manner each, that cite **openly fictional** works: authors, journals, publishers and
places are invented, DOIs have the test prefix 10.5555, addresses end in `.example`. Licence: that of
the project.

- `NAME.pdf`, `NAME.xml`: an article and its JATS. `NAME` begins with the platform whose manner it follows.
- `corpus.tsv`: `id pdf xml source doi`, tab separated, paths relative to the file.
- `flaws.tsv`: `id ref reason`, the imperfect gold annotations below.

"""
FLAWS = """
## Imperfect on purpose

Real gold has errors, and the quality filters (section 2.3 of the paper) must have something to reject.
These references carry one, named by the reason code that a filter should give (others may join it);
all the other references should pass.

| article | ref | reason |
|---|---|---|
"""


def _flaws(articles: list[Article]) -> list[tuple[str, str, str]]:
    return [
        (article.name, f"B{number}", reference.flaw)
        for article in articles
        for number, reference in enumerate(article.references, 1)
        if reference.flaw
    ]


def _overview(articles: list[Article]) -> str:
    rows = [
        "| article | language | style | columns | references | cited types |",
        "|---|---|---|---|---|---|",
    ]
    for article in articles:
        kinds = Counter(reference.work.kind for reference in article.references)
        shown = ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()))
        rows.append(
            f"| {article.name} | {article.lang} | {article.style} | {article.columns} "
            f"| {len(article.references)} | {shown} |"
        )
    return "\n".join(rows) + "\n"


def tables(articles: list[Article]) -> dict[str, str]:
    """File name -> text of the three tables."""
    corpus = [("id", "pdf", "xml", "source", "doi")]
    for item in articles:
        corpus.append((item.name, f"{item.name}.pdf", f"{item.name}.xml", item.manner, item.doi))
    flaws = _flaws(articles)
    flaw_rows = "".join(f"| {name} | {ref} | `{reason}` |\n" for name, ref, reason in flaws)
    return {
        "corpus.tsv": "".join("\t".join(row) + "\n" for row in corpus),
        "flaws.tsv": "".join("\t".join(row) + "\n" for row in [("id", "ref", "reason"), *flaws]),
        "README.md": INTRO + _overview(articles) + FLAWS + flaw_rows,
    }
