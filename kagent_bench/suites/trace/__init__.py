"""Traces: recorded operator calls of models, read from and written to the files that others use."""
