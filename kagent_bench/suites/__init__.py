"""TODO-DOC suites."""
