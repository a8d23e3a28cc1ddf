"""What is minimised: losses, negatives, ridge, embeddings, objective."""
