"""Sweeps on shards: factors that never leave the workers."""
