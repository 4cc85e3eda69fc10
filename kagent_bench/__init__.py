"""kagent-bench: judge GPU kernels that programs write."""
