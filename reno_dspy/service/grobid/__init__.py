"""The part of GROBID's REST interface that is about references, so that its clients work unchanged."""
