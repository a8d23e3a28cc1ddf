"""What completion models minimise."""
