"""What people use: recommenders, their floor, multi-label classifiers and completion of matrices."""
