"""The command `reno`, the one place that knows all four packages. Commands import lazily."""

from reno_dspy.cli.main import main

__all__ = ["main"]
