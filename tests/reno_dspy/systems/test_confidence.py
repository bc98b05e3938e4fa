"""What a model that labels words knows of its values: by words, up to the marks and what rules find."""

from __future__ import annotations

import numpy as np
import pytest

from reno_dspy.systems import Confidence
from reno_dspy.systems.bio import spans_of
from reno_dspy.systems.confidence import Judge, Labelled
from reno_dspy.systems.crf.model import Crf
from reno_dspy.systems.repair import prepared
from reno_dspy.systems.tagger.labels import Labels
from reno_dspy.systems.tokens import tokenize

NAMES = ("O", "B-year", "I-year", "B-source", "I-source", "B-collab", "I-collab")
JUDGE = Judge(NAMES, Labels(NAMES).chain)


def judged(text: str, *chances: dict[str, float]) -> Confidence:
    """The confidence where each word has these chances of labels, the rest shared by the others."""
    read = prepared(text)
    words = tokenize(read.text)
    rows = []
    for one in chances:
        left = (1 - sum(one.values())) / (len(NAMES) - len(one))
        rows.append([np.log(max(one.get(name, left), 1e-12)) for name in NAMES])
    scores = np.array(rows)
    (path,) = JUDGE.chain.best_paths([scores])
    spans = read.spans(spans_of(words, [NAMES[label] for label in path]))
    (found,) = JUDGE.judge([Labelled(read, words, scores, path, spans)])
    return found


def test_a_value_is_as_sure_as_the_labels_of_its_words() -> None:
    found = judged("Nature 1999", {"B-source": 0.8, "O": 0.2}, {"B-year": 0.9, "O": 0.1})
    assert [(one.field, one.value) for one in found.values] == [
        ("source", "Nature"), ("year", "1999"),
    ]  # fmt: skip
    assert [one.probability for one in found.values] == pytest.approx([0.8, 0.9], abs=1e-6)
    assert found.whole == pytest.approx(0.72, abs=1e-6)


def test_a_value_that_may_go_on_is_less_sure_than_its_words() -> None:
    found = judged("Nature Letters", {"B-source": 1.0}, {"O": 0.7, "I-source": 0.3})
    (source,) = found.values
    assert (source.probability, found.whole) == pytest.approx((0.7, 0.7), abs=1e-6)


def test_doubts_about_marks_and_about_fields_outside_the_seven_cost_the_whole_nothing() -> None:
    found = judged(
        "Nature. WHO",
        {"B-source": 1.0},
        {"O": 0.6, "I-source": 0.4},
        {"B-collab": 0.6, "O": 0.4},
    )
    source, collab = found.values
    assert (source.probability, found.whole) == pytest.approx((1, 1), abs=1e-6)
    assert collab.probability == pytest.approx(0.6, abs=1e-6)


def test_an_identifier_is_found_by_its_form_and_judged_by_nobody() -> None:
    crf = Crf()
    text = "Ito K. Foxes of the north. J Fict Zool. 2010;12(3):200-9. doi:10.5555/2010.12"
    (one,) = crf.annotate_all([text])
    assert one.confidence is not None
    by_field = {value.field: value.probability for value in one.confidence.values}
    assert by_field.pop("pub-id") is None
    assert min(p for p in by_field.values() if p is not None) >= one.confidence.whole > 0


def test_confidence_does_not_depend_on_the_references_beside_it() -> None:
    crf = Crf()
    texts = ["Ito K. Foxes. J Fict Zool. 2010;12(3):200-9.", "Oe H. " * 900, "", "Geese. 1999."]
    together = crf.annotate_all(texts)
    for text, one in zip(texts, together, strict=True):
        (alone,) = crf.annotate_all([text])
        assert one.confidence is not None
        assert alone.confidence is not None
        assert one.confidence.to_json() == alone.confidence.to_json()


def test_a_reference_without_words_has_nothing_that_could_be_wrong() -> None:
    crf = Crf()
    crf.calibration = None
    assert crf.annotate_all([""])[0].confidence == Confidence(1.0)
    assert crf.annotate_all([]) == []
