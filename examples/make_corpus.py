"""Writes the sample corpus: short articles as PDF and JATS, citing openly fictional works.

    python examples/make_corpus.py [--out examples/corpus]

Deterministic: the same sources give the same bytes. Needs reportlab and pyphen (extra `dev`).
Everything in it is invented: authors, journals, publishers, places; DOIs have the test prefix 10.5555
and addresses the reserved top-level domain `.example`.
"""

import argparse
from pathlib import Path

from corpus_maker import article, jats, layout, readme

HERE = Path(__file__).parent


def make(out: Path) -> list[article.Article]:
    """Write every article, `corpus.tsv`, `flaws.tsv` and `README.md` to `out`; return the articles."""
    out.mkdir(parents=True, exist_ok=True)
    used: set[str] = set()
    sources = sorted((HERE / "corpus_maker" / "articles").glob("*.md"))
    articles = [article.read(path, used) for path in sources]
    for item in articles:
        layout.write(item, out / f"{item.name}.pdf")
        (out / f"{item.name}.xml").write_text(jats.document(item), encoding="utf-8")
    for name, text in readme.tables(articles).items():
        (out / name).write_text(text, encoding="utf-8")
    return articles


def main() -> None:
    """Read the command line and write the corpus."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / "corpus", help="folder to write to")
    out = parser.parse_args().out
    articles = make(out)
    count = sum(len(item.references) for item in articles)
    print(f"{len(articles)} articles, {count} references in {out}")


if __name__ == "__main__":
    main()
