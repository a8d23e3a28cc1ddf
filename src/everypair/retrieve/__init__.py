"""Exact blocked top-k retrieval with filters."""
