"""Suites: named sets of operators with cases, and the selection made from them."""
