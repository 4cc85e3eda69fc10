"""The bundled dtype filters."""
