"""Options of every job that takes `--data`. Imports no data library, so help is quick."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

StrictData = Annotated[
    bool,
    Field(description="Refuse data with rows that cannot be used, instead of leaving those out."),
]
