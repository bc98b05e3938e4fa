"""GROBID over REST."""
