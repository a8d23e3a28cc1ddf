"""How two towers are trained: one optimiser per file, each with ``descends`` and ``step(state)`` for the one loop."""
