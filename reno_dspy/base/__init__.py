"""What every job stands on: errors, configuration, run directories. Knows nothing of references."""
