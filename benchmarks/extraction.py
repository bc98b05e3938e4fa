"""What the rule-based extractor finds, article by article: matched references of the findable ones.

    python benchmarks/extraction.py ../shared/data/pairs [ARTICLE ...]

Findable: s >= 0.75 with the best window of the converted text (see convert.py). Matched: by the build's own
matching. With names of articles, also prints what was not matched on either side.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from convert import findable

from reno_dspy.base.errors import InputError
from reno_dspy.build.match import match
from reno_dspy.build.pdf.convert import Converter
from reno_dspy.build.references.find import extract, verify, without_furniture
from reno_dspy.build.steps import reference_forms
from reno_dspy.jats.article import read_article


def main() -> None:
    """Print the table, its sums, and for named articles the rest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("articles", nargs="*")
    arguments = parser.parse_args()
    pdfs = sorted(arguments.folder.glob("*.pdf"))
    pdfs = [p for p in pdfs if not arguments.articles or p.stem in arguments.articles]
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    print(f"{'article':28} {'kind':8} {'refs':>5} {'findable':>8} {'extracted':>9} {'matched':>7}")
    with Converter() as converter:
        for pdf in pdfs:
            document = converter.convert(pdf)
            try:
                references = read_article(pdf.with_suffix(".xml")).references
            except InputError as error:
                print(f"{pdf.stem}: {error}")
                continue
            kind = "mixed" if all(r.kind == "mixed" for r in references) else "element"
            found = verify(extract(document.markdown), document.markdown).references
            matches = match(found, [reference_forms(r)[0] for r in references])
            text = without_furniture(document.markdown).replace("-\n", "")
            able = sum(findable(r, " ".join(text.split())) for r in references)
            row = [len(references), able, len(found), len(matches)]
            print(f"{pdf.stem:28} {kind:8} {row[0]:5} {row[1]:8} {row[2]:9} {row[3]:7}")
            sums[kind] = [a + b for a, b in zip(sums[kind], row, strict=True)]
            if arguments.articles:
                taken = {m.extracted for m in matches}, {m.annotated for m in matches}
                print(*(f"  text: {t}" for i, t in enumerate(found) if i not in taken[0]), sep="\n")
                print(*(f"  JATS: {r.text}" for j, r in enumerate(references) if j not in taken[1]),
                      sep="\n")  # fmt: skip
    for kind, (refs, able, _, matched) in sums.items():
        print(
            f"{kind}: {refs} references, {matched}/{able} of the findable = {matched / max(able, 1):.1%}"
        )


if __name__ == "__main__":
    main()
