"""Checks of cases themselves: whether they run, and what a kernel that passes them would have shown."""
