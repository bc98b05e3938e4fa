"""Plain-text references to JATS XML: what a citation is, how it is scored, how data sets are built.

This package imports neither DSPy, PyTorch nor MLflow; `programs`, `finetune` and `tracking` build on it.
"""

__version__ = "0.1.0"
