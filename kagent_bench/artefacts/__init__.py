"""TODO-DOC artefacts."""
