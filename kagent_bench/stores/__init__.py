"""TODO-DOC stores."""
