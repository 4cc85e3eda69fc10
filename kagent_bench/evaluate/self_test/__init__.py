"""The start-up self-test: right kernels whose verdicts tell what this machine can judge."""
