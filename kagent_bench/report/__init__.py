"""TODO-DOC report."""
