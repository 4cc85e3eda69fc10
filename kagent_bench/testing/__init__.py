"""TODO-DOC testing."""
