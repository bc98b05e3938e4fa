"""Finding the gold's own errors: values that independent systems agree on and the gold does not have."""
