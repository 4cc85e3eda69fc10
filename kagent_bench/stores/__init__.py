"""What is on disk: kernels, runs and their results, written so that a crash loses nothing."""
