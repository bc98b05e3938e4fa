"""Pairs of reference and annotation on disk: data sets, splits, corpora."""
