"""Tracing: records the operator calls of a user's own model as a trace."""
