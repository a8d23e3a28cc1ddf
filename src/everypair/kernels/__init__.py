"""Compiled inner loops (numba) and nothing else; each has a plain-numpy twin in the tests."""
