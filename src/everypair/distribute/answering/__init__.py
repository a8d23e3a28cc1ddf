"""Answers of factors that are on a cluster."""
