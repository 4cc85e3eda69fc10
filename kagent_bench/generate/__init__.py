"""TODO-DOC generate."""
