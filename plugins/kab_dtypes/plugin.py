"""Hook implementations of this package."""
