"""Grids on a terminal, as many columns beside each other as it has room for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from tracking.compare.grid import Cell, Grid, Line

# A table keeps at least this much for its labels: numbers without names are of no use.
_LABEL = 18


def tables(grid: Grid, width: int) -> Iterator[Table]:
    """The grid as one table, or as several that each repeat the labels and fit into `width`.

    Widths are set here, since rich would take the room that is missing from the labels.
    """
    longest = max(len(grid.heads[0]), *(len(line.label) for line in grid.lines), 0)
    least = [_words(grid, column) for column in range(len(grid.heads) - 1)]
    whole = [_whole(grid, column) for column in range(len(grid.heads) - 1)]
    title = grid.title
    for columns in _groups(least, width - min(longest, _LABEL)):
        widths = {column: whole[column] for column in columns}
        if _used(widths.values()) + longest > width:
            widths = {column: least[column] for column in columns}
        room = max(width - _used(widths.values()), 1)
        yield _table(grid, title, min(longest, room), widths)
        title = ""


def _groups(widths: Sequence[int], room: int) -> Iterator[range]:
    """Stretches of columns that fit into `room`; at least one column each."""
    start = 0
    for column in range(1, len(widths)):
        if _used(widths[start : column + 1]) > room:
            yield range(start, column)
            start = column
    yield range(start, len(widths))


def _used(widths: Iterable[int]) -> int:
    """Columns of a terminal that these take, with the space before each."""
    return sum(width + 1 for width in widths)


def _words(grid: Grid, column: int) -> int:
    """The least width at which no word and no number is cut."""
    texts = [grid.heads[column + 1], *_texts(grid, column)]
    return max(len(word) for text in texts for word in _unbroken(grid, column, text))


def _unbroken(grid: Grid, column: int, text: str) -> list[str]:
    is_head = text == grid.heads[column + 1]
    return text.split() or [""] if is_head or column >= _first_words(grid) else [text]


def _whole(grid: Grid, column: int) -> int:
    return max(map(len, [grid.heads[column + 1], *_texts(grid, column)]))


def _texts(grid: Grid, column: int) -> list[str]:
    cells = [line.cells[column] for line in grid.lines]
    return [text for cell in cells for text in (cell.text, cell.small)]


def _first_words(grid: Grid) -> int:
    return len(grid.heads) - 1 - grid.words


def _table(grid: Grid, title: str, label: int, widths: Mapping[int, int]) -> Table:
    table = Table(
        title=Text(title, "bold") if title else None,
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column(grid.heads[0], overflow="fold", width=label)
    for column, width in widths.items():
        words = column >= _first_words(grid)
        table.add_column(
            Text(grid.heads[column + 1]),
            justify="left" if words else "right",
            overflow="fold",
            width=width,
        )
    for line in grid.lines:
        table.add_row(_label(line), *(_cell(line.cells[c], line.published) for c in widths))
    return table


def _label(line: Line) -> Text:
    text = Text(line.label, style="dim" if line.published else "")
    if line.note and not line.published:
        text.append(f"\n{line.note}", style="dim")
    return text


def _cell(cell: Cell, published: bool) -> Text:
    text = Text(cell.text, style="dim" if published else "bold" if cell.best else "")
    if cell.small:
        text.append(f"\n{cell.small}", style="dim not bold")
    return text
