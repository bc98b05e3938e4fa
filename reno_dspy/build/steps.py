"""What a build does to one article, stage by stage.

Pure functions of records, so that they can run in other processes; what is wrong with an article is an
`error` in its record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.limited import NotDone
from reno_dspy.build import describe as features
from reno_dspy.build import filters
from reno_dspy.build import match as matching
from reno_dspy.build.references import find
from reno_dspy.build.references.finder import shared_finder
from reno_dspy.jats.article import JatsReference, read_article
from reno_dspy.jats.citation import MalformedXml, parse
from reno_dspy.jats.elements import publication_type
from reno_dspy.jats.print_styles import renderings, without_ids

Record = dict[str, Any]
# Markdown of an article -> its references, verbatim: an LM program.
Extractor = Callable[[str], list[str]]
# (title, reference) -> (ISO 639-1 code, has a PID).
Describer = Callable[[str, str], tuple[str, bool]]
# Language, its confidence where it is known, has a PID.
Description = tuple[str, float | None, bool]


def extract(record: Record, extractor: Extractor) -> Record:
    """`{id, markdown, error}` -> `{id, references, hallucinated, repeated, failed, error}`, by an LM.

    `failed` holds the reason when the LM failed on the article.
    """
    if record["error"] is not None:
        return _nothing(record, record["error"])
    try:
        strings = extractor(record["markdown"])
    except JobError as error:
        return _nothing(record, str(error)) | {"failed": [_failure(record, error)]}
    return _extracted(record, find.verify(strings, record["markdown"]))


def extract_by_rules(record: Record, timeout_s: float, memory_mb: int) -> Record:
    """As `extract`, by the rules; what passes a limit is an article with that error."""
    if record["error"] is not None:
        return _nothing(record, record["error"])
    try:
        return _extracted(record, shared_finder(timeout_s, memory_mb).extract(record["markdown"]))
    except NotDone as reason:
        return _nothing(record, str(reason))


def _extracted(record: Record, found: find.Verified) -> Record:
    return {
        "id": record["id"],
        "references": list(found.references),
        "hallucinated": list(found.hallucinated),
        "repeated": found.repeated,
        "failed": [],
        "error": None if found.references else "no references found in the text",
    }


def _nothing(record: Record, error: str) -> Record:
    return _extracted(record, find.Verified((), (), 0)) | {"error": error}


def match(record: Record, threshold: float = matching.THRESHOLD) -> Record:
    """`{id, xml, source, doi, references, error}` -> `{id, pairs, unmatched, unmatched_jats, error}`."""
    out: Record = {"id": record["id"], "pairs": [], "unmatched": [], "unmatched_jats": []}
    references: list[str] = record["references"]
    try:
        article = read_article(Path(record["xml"]))
    except InputError as error:
        return out | {"unmatched": references, "error": str(error)}
    texts, styles = (
        zip(*map(reference_forms, article.references), strict=True)
        if article.references
        else ((), ())
    )
    found = matching.match(references, texts, threshold)
    pairs = []
    for pair in sorted(found, key=lambda pair: pair.extracted):
        jats = article.references[pair.annotated]
        pairs.append(
            {
                "id": f"{record['id']}#{jats.id}",
                "plaintext": references[pair.extracted],
                "xml": jats.xml,
                "source": record["source"],
                "citing_article_id": record["id"],
                "citing_article_doi": record["doi"] or article.doi,
                "citing_is_preprint": article.is_preprint,
                "similarity": round(pair.similarity, 6),
                "matched_form": styles[pair.annotated][pair.form],
            }
        )
    used = {pair.extracted for pair in found}, {pair.annotated for pair in found}
    return out | {
        "pairs": pairs,
        "unmatched": [text for i, text in enumerate(references) if i not in used[0]],
        "unmatched_jats": [r.id for j, r in enumerate(article.references) if j not in used[1]],
        "error": record["error"] or (None if article.references else "no references in the JATS"),
    }


def check(record: Record) -> Record:
    """Adds to each pair the reasons to reject it (none to keep it)."""
    pairs = [
        pair | {"reasons": list(filters.check(pair["plaintext"], pair["xml"]))}
        for pair in record["pairs"]
    ]
    return {"id": record["id"], "pairs": pairs}


def describe(record: Record, describer: Describer | None = None) -> Record:
    """Drops rejected pairs and adds language, PID and publication type to the others.

    Pairs on which an LM failed are dropped, too, and in `failed` with the reason.
    """
    pairs = [pair for pair in record["pairs"] if not pair["reasons"]]
    described, failed = [], []
    for pair, told in zip(pairs, _language_and_pid(pairs, describer), strict=True):
        if isinstance(told, JobError):
            failed.append(_failure(pair, told))
            continue
        kept = {key: value for key, value in pair.items() if key != "reasons"}
        language, confidence, has_pid = told
        described.append(
            kept
            | {
                "language": language,
                "language_confidence": confidence,
                "has_pid": has_pid,
                "publication_type": publication_type(parse(pair["xml"])) or "other",
            }
        )
    return {"id": record["id"], "pairs": described, "failed": failed}


def _language_and_pid(
    pairs: Sequence[Record], describer: Describer | None
) -> Sequence[Description | JobError]:
    citations = [parse(pair["xml"]) for pair in pairs]
    texts = [pair["plaintext"] for pair in pairs]
    titles = [features.title_of(c) or text for c, text in zip(citations, texts, strict=True)]
    if describer is not None:
        return [_ask(describer, title, text) for title, text in zip(titles, texts, strict=True)]
    return [
        (found.code, found.confidence, features.has_pid(text, citation))
        for found, text, citation in zip(features.languages(titles), texts, citations, strict=True)
    ]


def _ask(describer: Describer, title: str, text: str) -> Description | JobError:
    try:
        language, has_pid = describer(title, text)
    except JobError as error:
        return error
    return language, None, has_pid


def _failure(record: Record, error: JobError) -> Record:
    return {"id": record["id"], "error": str(error)}


def reference_forms(reference: JatsReference) -> tuple[list[str], list[str]]:
    """The texts of a JATS reference to match with, and what they are.

    Besides what the article prints: the same without identifiers, which publishers glue on unprinted,
    and the tagged values in several printed styles.
    """
    texts = list(reference.texts)
    try:
        citation = parse(reference.xml)
    except MalformedXml:
        return texts, ["text"] * len(texts)
    forms = renderings(citation)
    if reference.kind == "mixed":
        forms = {"without ids": without_ids(citation)} | forms
    return [*texts, *forms.values()], [*["text"] * len(texts), *forms]
