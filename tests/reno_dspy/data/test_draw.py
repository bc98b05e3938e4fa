"""Draws by seed: the same every time, in the order of the items."""

from reno_dspy.data.draw import draw


def test_a_draw_keeps_the_order_and_depends_on_the_seed() -> None:
    items = [f"row {i}" for i in range(100)]
    drawn = draw(items, 10, 1)
    assert len(set(drawn)) == 10
    assert list(drawn) == [item for item in items if item in drawn] == list(draw(items, 10, 1))
    assert list(drawn) != list(draw(items, 10, 2))


def test_all_are_taken_where_there_are_no_more() -> None:
    for count in (3, 4, None):
        assert draw("abc", count, 0) == "abc"
    assert list(draw([], 4, 0)) == []
    assert list(draw("abc", 0, 0)) == []
