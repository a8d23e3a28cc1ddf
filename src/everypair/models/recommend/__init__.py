"""Recommenders: what is learnt from events answers, by id, what else somebody may like."""
