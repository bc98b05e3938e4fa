"""The GEPA metric: what it teaches, and that nothing makes it raise."""

from __future__ import annotations

from typing import Any

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from programs.config import Objective
from programs.optimize.feedback import make_metric

REFERENCE = "Ferrand LM, Quill A. Tidal memory. J Imag Hydrol. 2014;12(3):45."
GOLD = (
    "<mixed-citation><surname>Ferrand</surname> <given-names>LM</given-names>, "
    "<surname>Quill</surname> <given-names>A</given-names>. <article-title>Tidal memory"
    "</article-title>. <source>J Imag Hydrol</source>. <year>2014</year>;<volume>12</volume>"
    "(<issue>3</issue>):45.</mixed-citation>"
)


def score(annotation: Any, objective: Objective | None = None, **options: Any) -> dspy.Prediction:
    metric = make_metric(objective or Objective(), **options)
    example = dspy.Example(reference=REFERENCE, gold=GOLD).with_inputs("reference")
    return metric(example, dspy.Prediction(annotation=annotation))


def test_the_gold_itself_is_perfect() -> None:
    result = score(GOLD)
    assert result.score == 1.0
    assert set(result.objective_scores.values()) == {1.0}
    assert "Everything" in result.feedback


def test_each_kind_of_error_is_named() -> None:
    annotation = (
        GOLD.replace("<volume>12</volume>", "<issue>12</issue>")
        .replace("<issue>3</issue>", "3")
        .replace("Quill</surname>", "Quilt</surname>")
        .replace("<given-names>A</given-names>. ", "<given-names>A</given-names>. Extra ")
        .replace("<year>2014</year>", "2014<year>1999</year>")
    )
    feedback = score(annotation).feedback
    assert '<surname> is "Quilt" but should be "Quill" (edit distance 1, 0 allowed)' in feedback
    assert '<volume> "12" was missed; it was tagged <issue>' in feedback
    assert (
        '<issue> "3" was missed; it stands at character 58, in "mag Hydrol. 2014;12(3):45."'
        in feedback
    )
    assert '<year> "1999" was invented' in feedback
    assert "added" in feedback


def test_where_the_xml_broke() -> None:
    result = score(GOLD.replace("</source>", "</sauce>"))
    assert "line 1, column" in result.feedback.splitlines()[1]
    assert "source" in result.feedback.splitlines()[1]
    assert 0 < result.score < 1


def test_recall_is_the_mean_over_the_golds_fields() -> None:
    result = score("<mixed-citation><surname>Quill</surname><year>2014</year></mixed-citation>")
    assert result.score == pytest.approx((0.5 + 1) / 7)
    assert result.objective_scores["surname"] == 0.5


def test_a_weighted_mix() -> None:
    mixed = Objective(recall=1, well_formed=1, fidelity=2)
    assert score(GOLD, mixed).score == 1.0
    assert score("<mixed-citation/>", mixed).score == 0.25
    assert score("", mixed).score == 0.0


def test_shorter_instructions_can_count() -> None:
    metric = make_metric(Objective(recall=1, brevity=1))
    example = dspy.Example(reference=REFERENCE, gold=GOLD).with_inputs("reference")
    scores = [
        metric(example, dspy.Prediction(annotation=GOLD, prompt_chars=chars)).score
        for chars in (0, 2000, 4000, 9000)
    ]
    assert scores == [1.0, 0.75, 0.5, 0.5]


def test_the_most_costly_come_first_and_it_is_short() -> None:
    many = "<mixed-citation>" + "<surname>Nobody</surname>" * 50 + "</mixed-citation>"
    feedback = score(many, max_chars=400).feedback
    assert len(feedback) <= 400
    assert "was missed" in feedback.splitlines()[1]
    assert "more problems" in feedback.splitlines()[-1]


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.none(),
        st.integers(),
        st.lists(st.text(), max_size=2),
        st.text(),
        st.text(alphabet="<>/&;\"' surnamey1", max_size=80),
        st.sampled_from([GOLD[:90], GOLD * 2, "<surname>" * 2000, "x" * 300_000, "\udc80<a/>"]),
    )
)
def test_it_never_raises_and_does_not_depend_on_the_predictor(annotation: Any) -> None:
    metric = make_metric(Objective(), max_chars=500)
    example = dspy.Example(reference=REFERENCE, gold=GOLD).with_inputs("reference")
    prediction = dspy.Prediction(annotation=annotation)
    one = metric(example, prediction)
    two = metric(example, prediction, [], "annotate", [(None, {}, prediction)])
    assert 0.0 <= one.score <= 1.0
    assert (one.score, one.feedback, one.objective_scores) == (
        two.score,
        two.feedback,
        two.objective_scores,
    )
    assert len(one.feedback) <= 500


@pytest.mark.parametrize("prediction", [None, "text", dspy.Prediction(), 3])
def test_something_else_than_a_prediction(prediction: Any) -> None:
    example = dspy.Example(reference=REFERENCE, gold=GOLD).with_inputs("reference")
    assert make_metric(Objective())(example, prediction).score == 0.0
