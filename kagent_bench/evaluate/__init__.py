"""TODO-DOC evaluate."""
