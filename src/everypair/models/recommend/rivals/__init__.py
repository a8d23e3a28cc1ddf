"""Recommenders that exist to be compared with OneClassMF."""
