"""MLflow: every job's run, lineage, comparison tables, plots, reports, the published tables."""
