"""Several recommenders as one."""
