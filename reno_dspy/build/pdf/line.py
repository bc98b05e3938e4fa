"""A printed line of a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A printed line: its text, left and right edge and base line (points, origin bottom left).

    `angle` is that of its letters, in degrees, against the direction in which the page is read.
    """

    text: str
    left: float
    right: float
    base: float
    angle: int = 0
