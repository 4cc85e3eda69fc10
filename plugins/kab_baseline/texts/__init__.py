"""Source texts that generated kernels are assembled from."""
