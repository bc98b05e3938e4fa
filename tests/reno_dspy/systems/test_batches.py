"""A batch through a model: one bad reference is one error."""

from __future__ import annotations

from collections.abc import Sequence

from reno_dspy.systems.batches import Annotated, complete_batch


def test_one_reference_to_blame_is_one_error() -> None:
    seen: list[list[str]] = []

    def annotate(references: Sequence[str]) -> list[Annotated]:
        seen.append(list(references))
        if "too long" in references:
            raise MemoryError("cannot allocate")
        return [Annotated(f"<m>{reference}</m>") for reference in references]

    found = complete_batch(annotate, ["a", "\x00", "too long", "b"])
    assert [one.text for one in found] == ["<m>a</m>", "", "", "<m>b</m>"]
    assert found[2].error == "MemoryError('cannot allocate')"
    assert "cannot stand in XML" in str(found[1].error)
    assert seen == [["a", "too long", "b"], ["a"], ["too long", "b"], ["too long"], ["b"]]
    assert complete_batch(annotate, []) == []
