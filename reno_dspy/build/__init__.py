"""Building a benchmark data set from PDF + JATS pairs (the paper's section 2)."""
