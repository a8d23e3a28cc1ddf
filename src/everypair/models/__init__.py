"""What people use: recommenders and their floor."""
