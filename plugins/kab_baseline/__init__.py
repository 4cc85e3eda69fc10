"""The baseline generator."""
