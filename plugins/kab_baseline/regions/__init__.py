"""Regions: graphs of ATen calls that one kernel computes."""
