"""EveryPair learns from every pair: the few that were observed and all the rest."""

__version__ = "0.1.0"
