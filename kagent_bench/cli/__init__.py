"""TODO-DOC cli."""
