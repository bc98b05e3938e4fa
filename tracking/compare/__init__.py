"""Runs side by side: results, paired differences, tables, plots, pages."""
