"""Plain-text references to JATS XML: annotate, measure, build benchmarks, compare.

    import reno_dspy as reno

The names below are the Python interface (`reno_dspy.api`), loaded when they are first used. The core of
this package imports neither DSPy, PyTorch nor MLflow; `programs`, `finetune` and `tracking` build on it.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reno_dspy.api import Annotation as Annotation
    from reno_dspy.api import annotate as annotate
    from reno_dspy.api import compare as compare
    from reno_dspy.api import evaluate as evaluate
    from reno_dspy.api import load as load
    from reno_dspy.api import read as read
    from reno_dspy.api import score as score
    from reno_dspy.base.errors import InputError as InputError
    from reno_dspy.base.errors import JobError as JobError
    from reno_dspy.base.errors import RenoError as RenoError

__version__ = "0.1.0"
__all__ = [
    "Annotation",
    "InputError",
    "JobError",
    "RenoError",
    "annotate",
    "compare",
    "evaluate",
    "load",
    "read",
    "score",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from reno_dspy import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Face(ModuleType):
    """This package, whose function `annotate` is not hidden by its room of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import of a subpackage ends by setting it as an attribute of its parent.
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
