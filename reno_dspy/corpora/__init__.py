"""Corpora: articles as PDF and JATS, on disk or fetched from a platform."""
