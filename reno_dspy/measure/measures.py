"""What is measured. A measure is added here alone: reports, tables, pages and MLflow follow."""

from __future__ import annotations

from dataclasses import dataclass

# The counts of a field, summed over citations: values in the gold and in the answers, values matched in
# the lenient and in the strict reading, predicted values in citations whose gold has the field, and pairs
# of values that differ by the punctuation at their ends alone.
COUNTS = ("gold", "pred", "lenient", "strict", "restricted", "punctuation")


@dataclass(frozen=True)
class Measure:
    """A ratio of two COUNTS in percent, of each field and of the scored fields together."""

    name: str
    title: str
    top: str
    bottom: str
    in_paper: bool = True

    @property
    def metric(self) -> str:
        """The name of its group of metrics in MLflow, `recall/lenient`."""
        return self.name.replace("_", "/")


MEASURES = (
    Measure("recall_lenient", "Table 1: Recall", "lenient", "gold"),
    Measure("precision_lenient", "Table 2: Precision", "lenient", "pred"),
    Measure("recall_strict", "Table 3: Recall (strict)", "strict", "gold"),
    Measure("precision_strict", "Table 4: Precision (strict)", "strict", "pred"),
    # Gold often lacks a field that the reference has (paper section 3): precision without that.
    Measure(
        "precision_restricted",
        "Precision where the gold has the field (not in the paper)",
        "lenient",
        "restricted",
        in_paper=False,
    ),
)
# Those that others name.
RECALL, PRECISION, RECALL_STRICT, *_ = (measure.name for measure in MEASURES)


@dataclass(frozen=True)
class Share:
    """The share of references with a property, the attribute `flag` of `CitationScore`.

    References of which it is None (undefined) do not count. `compared`: part of the paired comparison.
    """

    name: str
    flag: str
    title: str
    meaning: str
    compared: bool = False


SHARES = (
    Share(
        "valid_xml", "well_formed", "Valid XML", "the answer is exactly one well-formed XML element"
    ),
    Share("fidelity", "fidelity", "Text kept", "the annotation without its tags is the reference"),
    Share(
        "all_authors",
        "all_authors",
        "All names right",
        "every surname and given name is right and none is invented (lenient)",
    ),
    Share(
        "people_right",
        "people_right",
        "People right",
        "every person is right: surname and given names in one element, and the role",
        compared=True,
    ),
    Share(
        "whole_right",
        "whole_right",
        "Whole reference right",
        "every scored field has exactly the gold's values (strict, no edit distance)",
        compared=True,
    ),
)
# The shares that two runs are compared by.
COMPARED = tuple(share for share in SHARES if share.compared)
# Those that others name.
PEOPLE, WHOLE, *_ = (share.name for share in COMPARED)
