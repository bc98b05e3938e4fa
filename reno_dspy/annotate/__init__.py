"""Annotating anybody's references with any system."""
