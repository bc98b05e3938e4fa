"""The GEPA job: optimizing a prompt with DSPy."""
