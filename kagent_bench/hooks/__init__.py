"""TODO-DOC hooks."""
