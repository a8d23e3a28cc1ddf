"""Training as every estimator does it: start, warm-up of kernels, validation, progress."""
