"""Module problems: recording a problem file in a process of its own, and running what was recorded."""
