"""DSPy programs: the adapter, the modules that annotate, extract and describe, and the GEPA job."""
