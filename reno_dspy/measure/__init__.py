"""Measuring a system (the paper's section 3): metric, reports, intervals, error review."""
