"""The metric: maximum matching, strict within lenient, and gold against itself."""

import gzip
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.jats.elements import SCORED
from reno_dspy.measure.metric import NORMALIZED, PAPER, best_matching, compare
from reno_dspy.measure.report import make_report

names = st.lists(st.sampled_from(["Ito", "Ita", "Cruz", "Vale", ""]), max_size=5)
titles = st.lists(st.text(alphabet="ab", max_size=14), max_size=4)


def citation(surnames: list[str], rest: str = "") -> str:
    inner = "".join(f"<surname>{name}</surname>" for name in surnames)
    return f"<mixed-citation>{inner}{rest}</mixed-citation>"


def brute_force(golds: list[str], preds: list[str], limit: int) -> int:
    """The largest number of pairs over every assignment of golds to preds."""
    near = [[len(best_matching([g], [p], [limit])) > 0 for p in preds] for g in golds]
    slots = [*range(len(preds)), *[None] * len(golds)]
    return max(
        sum(j is not None and near[i][j] for i, j in enumerate(chosen))
        for chosen in itertools.permutations(slots, len(golds))
    )


@given(st.lists(st.text(alphabet="ab", max_size=4), max_size=3), titles, st.integers(0, 3))
def test_matching_is_one_to_one_and_maximum(golds: list[str], preds: list[str], limit: int) -> None:
    pairs = best_matching(golds, preds, [limit] * len(golds))
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert len(pairs) == brute_force(golds, preds, limit)


@given(names, names, st.randoms())
def test_order_of_authors_changes_nothing(
    golds: list[str], preds: list[str], random: object
) -> None:
    before = compare(citation(golds), citation(preds)).fields["surname"]
    shuffled = sorted(preds, key=lambda _: random.random())  # type: ignore[attr-defined]
    after = compare(citation(golds), citation(shuffled)).fields["surname"]
    assert (before.gold, before.pred, before.lenient) == (after.gold, after.pred, after.lenient)


@given(st.text(), st.booleans())
def test_strict_is_never_above_lenient(noise: str, broken: bool) -> None:
    prediction = citation(["Ito", noise.replace("<", "")]) + ("<" if broken else "")
    for profile in (PAPER, NORMALIZED):
        for one in compare(citation(["Ito", "Cruz"]), prediction, profile).fields.values():
            assert 0 <= one.strict <= one.lenient <= min(one.gold, one.pred)


@given(st.text())
def test_no_output_raises(prediction: str) -> None:
    compare(citation(["Ito"]), prediction, PAPER, "Ito")
    compare(citation(["Ito"]), prediction, NORMALIZED)


def test_empty_values_never_match() -> None:
    score = compare(citation(["", "Ito"]), citation(["", "Ito"])).fields["surname"]
    assert (score.gold, score.pred, score.lenient) == (1, 2, 1)


def test_a_duplicate_prediction_is_a_miss() -> None:
    score = compare(citation(["Ito"]), citation(["Ito", "Ito"])).fields["surname"]
    assert (score.gold, score.pred, score.lenient, score.wrong) == (1, 2, 1, ("Ito",))


@pytest.mark.parametrize(
    ("field", "gold", "near", "far"),
    [
        ("source", "Journal of Fables", "Journal of Fabl", "Journal of Fa"[:10]),
        ("article-title", "A long title of a work", "A long title", "A long tit"),
        ("year", "2001", "2001", "2002"),
    ],
)
def test_thresholds_of_the_paper(field: str, gold: str, near: str, far: str) -> None:
    def matched(value: str) -> int:
        annotations = [f"<m><{field}>{text}</{field}></m>" for text in (gold, value)]
        return compare(*annotations).fields[field].lenient

    assert (matched(near), matched(far)) == (1, 0)


def test_malformed_output_stays_in_the_strict_denominator() -> None:
    score = compare(citation(["Ito"]), "<mixed-citation><surname>Ito</surname>").fields["surname"]
    assert (score.lenient, score.strict, score.pred) == (1, 0, 1)


def test_the_normalized_profile_forgives_form() -> None:
    gold = "<m><chapter-title>Irregularities: a “view”</chapter-title><surname>O’Neil</surname></m>"
    pred = "<m><article-title>IRREGU- LARITIES a view</article-title><surname>O'Neil</surname></m>"
    paper, normalized = compare(gold, pred).fields, compare(gold, pred, NORMALIZED).fields
    assert (paper["article-title"].gold, paper["surname"].lenient) == (0, 0)
    assert (normalized["article-title"].lenient, normalized["surname"].lenient) == (1, 1)


def test_the_normalized_profile_caps_thresholds_by_length() -> None:
    gold, pred = "<m><source>Nature</source></m>", "<m><source>Future</source></m>"
    assert compare(gold, pred).fields["source"].lenient == 1
    assert compare(gold, pred, NORMALIZED).fields["source"].lenient == 0


def test_fidelity_and_all_authors() -> None:
    gold = "<m><surname>Ito</surname> <given-names>K</given-names>. <year>1</year></m>"
    assert compare(gold, gold, PAPER, "Ito  K.\n1").fidelity is True
    assert compare(gold, gold, PAPER, "Ito K. 2").fidelity is False
    assert compare(gold, gold).all_authors is True
    assert compare(gold, gold.replace(">K<", ">Q<")).all_authors is False
    assert compare("<m><year>1</year></m>", gold).all_authors is None


def test_gold_against_itself_is_perfect_on_every_file(shared: Path) -> None:
    for file in sorted((shared / "data" / "refs").glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        records = [{"xml": row["xml"], "prediction": row["xml"]} for row in rows]
        report = make_report(records)
        assert report.share("valid_xml") == 100.0, file.name
        for name in SCORED:
            one = report.fields[name]
            expected = 100.0 if one.counts["gold"] else None
            found = (one.value("recall_lenient"), one.value("recall_strict"))
            assert found == (expected, expected), file.name
