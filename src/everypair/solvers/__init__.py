"""How it is minimised: one algorithm per file, one shared loop."""
