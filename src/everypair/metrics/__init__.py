"""Ranking metrics: pure functions of scores and truth."""
