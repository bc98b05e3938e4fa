"""What a gold annotation may have left out."""

from __future__ import annotations

from finetune.training.omissions import Omissions
from finetune.training.targets import Targets, labels_for
from reno_dspy.data.lessons import Lesson
from reno_dspy.jats.spans import Span
from reno_dspy.systems.tokens import tokenize

TEXT = "Veldt. Fog. J. 1999."
YEAR = Span(15, 19, "year")
TITLE = Span(7, 10, "article-title")


def lesson(*spans: Span, source: str = "a", kind: str = "journal") -> Lesson:
    return Lesson(TEXT, spans, kind, source=source)


def test_what_a_source_never_tags_and_what_a_row_of_its_kind_lacks_is_open() -> None:
    lessons = [lesson(YEAR, TITLE) for _ in range(60)] + [lesson(YEAR)]
    other = [lesson(YEAR, Span(12, 13, "source"), source="b") for _ in range(60)]
    omissions = Omissions(lessons + other, {"year", "article-title", "source"})
    assert omissions.of(lessons[0]) == {"source"}
    # Titles are usual among journal articles of this source.
    assert omissions.of(lessons[-1]) == {"source", "article-title"}
    assert omissions.of(other[0]) == {"article-title"}
    # A source of few rows proves nothing.
    assert omissions.of(lesson(YEAR, source="c")) == frozenset()


def test_untagged_words_may_be_of_an_omitted_field_and_tagged_ones_may_not() -> None:
    lessons = [lesson(YEAR, TITLE)]
    targets = Targets(labels_for(lessons, 1))
    found = targets.of_words(tokenize(TEXT), [YEAR], frozenset({"article-title"}))
    names = targets.labels.names
    right = [
        {name for name, is_right in zip(names, targets.sets()[target], strict=True) if is_right}
        for target in found
    ]
    words = [token.text for token in tokenize(TEXT)]
    assert right[words.index("Fog")] == {"O", "B-article-title", "I-article-title"}
    assert right[words.index("1999")] == {"B-year"}
