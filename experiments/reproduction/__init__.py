"""Every table, figure and claim of the five papers: where ours is, and what it says beside the published one."""
