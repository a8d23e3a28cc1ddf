"""What comes in: stored pairs, ids, splits, graphs and data sets."""
