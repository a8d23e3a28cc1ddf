"""A model on held-out data."""
