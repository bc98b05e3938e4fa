"""The card of a data set of rendered references: what it is, and of what it is composed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from reno_dspy.data.dataset import Row
from reno_dspy.synthesize.config import SynthesizeConfig

# Styles and provenances beyond these are counted together.
_SHOWN = 40


def card(
    config: SynthesizeConfig,
    splits: Mapping[str, Sequence[Row]],
    dropped: Mapping[str, int],
    left_out: Mapping[str, int],
) -> str:
    """The card in Markdown."""
    rows = [row for made in splits.values() for row in made]
    sizes = ", ".join(f"{name} {len(made):,}" for name, made in splits.items())
    metadata = ", ".join(f"`{name.rpartition('/')[2]}`" for name in config.metadata)
    parts = [
        f"# {config.out.name}",
        "References rendered from metadata by a CSL processor (citeproc-js) in real citation styles and "
        "locales, by `reno synthesize`. The annotation tags each value where the processor put it; its "
        "text is the plain text, to the character. Defects of PDF text were put in at the rates below. "
        "Trained on alone, such rows do not carry over to real references: mix them with real ones.",
        f"{len(rows):,} rows ({sizes}) in {_distinct(row.style for row in rows):,} styles, "
        f"{_distinct(row.locale for row in rows):,} locales, "
        f"{_distinct(row.language for row in rows):,} languages and "
        f"{_distinct(row.publication_type for row in rows):,} publication types, of "
        f"{_distinct(row.citing_article_id for row in rows):,} works of {metadata}; seed {config.seed}. "
        "A work is in one split only, by its title.",
        "`citing_article_id` is the work, `language` that of its title. A work of a kind or language that "
        "the metadata hold too few of has a real title and invented numbers, dates and people "
        "(`--mix given` makes none). `licence` and `provenance` are those of the metadata and stay with "
        "whatever is passed on; the styles are under CC BY-SA 3.0 and are not part of the data set.",
        *_added(config),
        "## Publication types",
        _shares(row.publication_type for row in rows),
        "## Languages",
        _shares(row.language for row in rows),
        "## Locales",
        _shares(row.locale or "the style's own" for row in rows),
        "## Styles",
        _shares(row.style for row in rows),
        "## Licences",
        _shares(row.licence or "not stated" for row in rows),
        "## Noise",
        _table(
            ("kind", "rate"), [(k, f"{v:g}") for k, v in config.noise.model_dump().items() if v]
        ),
        "## Dropped references, by reason",
        _counts(dropped),
        "## Metadata left out, by reason",
        _counts(left_out),
    ]
    return "\n" + "\n\n".join(parts) + "\n"


def _added(config: SynthesizeConfig) -> list[str]:
    if not config.add:
        return []
    names = ", ".join(f"`{name.rpartition('/')[2]}`" for name in config.add)
    return [f"The real rows of {names} were added; the tables count the rendered ones alone."]


def _distinct(values: Iterable[str | None]) -> int:
    return len({value for value in values if value is not None})


def _shares(values: Iterable[str | None]) -> str:
    found = Counter(value or "not known" for value in values)
    lines = [
        (value, f"{count:,}", f"{100 * count / found.total():.1f}%")
        for value, count in found.most_common(_SHOWN)
    ]
    if rest := found.total() - sum(count for _, count in found.most_common(_SHOWN)):
        others = len(found) - _SHOWN
        lines.append((f"{others:,} others", f"{rest:,}", f"{100 * rest / found.total():.1f}%"))
    return _table(("", "rows", "share"), lines)


def _counts(counts: Mapping[str, int]) -> str:
    if not counts:
        return "None."
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return _table(("reason", "count"), [(reason, f"{count:,}") for reason, count in ordered])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
