"""Events and labels read and numbered on the workers."""
