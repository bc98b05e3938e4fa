"""How fast PDFs become text, and how many JATS references can be found in it afterwards.

    python benchmarks/convert.py ../shared/data/pairs [--only mixed]

Findable: s(reference, best window of the text) >= 0.75. One process, CPU seconds, through markitdown's
interface, nothing cached.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
from markitdown import StreamInfo
from rapidfuzz import fuzz

from reno_dspy.build.match import THRESHOLD, similarity
from reno_dspy.build.pdf.reader import markitdown
from reno_dspy.build.references.find import without_furniture
from reno_dspy.build.steps import reference_forms
from reno_dspy.jats.article import JatsReference, read_article

_WIDENINGS = (-0.15, -0.1, -0.05, -0.02, 0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25)


def best_window(reference: str, text: str) -> float:
    """The highest s of `reference` with any stretch of `text` (found by alignment, then widened)."""
    found = fuzz.partial_ratio_alignment(reference, text)
    if found is None:
        return 0.0
    start, end = (found.dest_start, found.dest_end)
    steps = [
        round(len(reference) * share)
        for share in (-0.15, -0.1, -0.05, -0.02, 0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25)
    ]
    return max(
        similarity(reference, text[max(0, start - a) : end + b].strip())
        for a in steps
        if a >= 0
        for b in steps
    )


def findable(reference: JatsReference, text: str) -> bool:
    """Whether one of the forms by which a build matches the reference is in the text."""
    return any(best_window(form, text) >= THRESHOLD for form in reference_forms(reference)[0])


def measure(folder: Path) -> Iterator[tuple[str, str, int, int, int, float]]:
    """Per article: name, kind, pages, references, findable ones, CPU seconds of conversion."""
    reader = markitdown()
    info = StreamInfo(extension=".pdf", mimetype="application/pdf")
    for pdf in sorted(folder.glob("*.pdf")):
        references = read_article(pdf.with_suffix(".xml")).references
        pages = len(pypdfium2.PdfDocument(pdf))
        began = time.process_time()
        with open(pdf, "rb") as file:
            markdown = reader.convert_stream(file, stream_info=info).markdown
        seconds = time.process_time() - began
        text = " ".join(without_furniture(markdown).replace("-\n", "").split())
        kind = "mixed" if all(r.kind == "mixed" for r in references) else "element"
        found = sum(findable(reference, text) for reference in references)
        yield pdf.stem, kind, pages, len(references), found, seconds


def main() -> None:
    """Print the table and its sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=["mixed", "element"])
    arguments = parser.parse_args()
    rows = []
    for row in measure(arguments.folder):
        if arguments.only in (None, row[1]):
            rows.append(row)
            print("{:32} {:8} {:4} pages {:4} refs {:4} findable {:.3f} s".format(*row))
    for kind in ("mixed", "element"):
        chosen = [row for row in rows if row[1] == kind]
        if chosen:
            refs, found = sum(r[3] for r in chosen), sum(r[4] for r in chosen)
            print(f"{kind}: {found}/{refs} findable = {found / refs:.1%}")
    pages, seconds = sum(row[2] for row in rows), sum(row[5] for row in rows)
    print(f"{pages} pages in {seconds:.2f} CPU s = {pages / seconds:.0f} pages per CPU second")


if __name__ == "__main__":
    main()
