"""TODO-DOC config."""
