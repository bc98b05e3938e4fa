"""Forms in which two strings are the same: white space collapsed, letters and digits only."""

from __future__ import annotations

import re
import unicodedata


def collapse(text: str) -> str:
    """`text` with every run of white space as one space, and none at the ends."""
    return " ".join(text.split())


def folded(text: str) -> str:
    """Letters and digits only, without case: what survives hyphenation and lost spaces.

    Composed and decomposed accents (NFC, NFD) give the same form.
    """
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFC", text).casefold())
