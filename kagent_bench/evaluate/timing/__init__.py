"""Measuring speed: two sides that take turns on one device, their clocks bounded from outside (docs in the README)."""
