"""Frozen values that every other part passes on: names, cases, kernels, verdicts, records."""
