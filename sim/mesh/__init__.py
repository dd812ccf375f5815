"""Traffic through a simulated mesh: patterns, figures, pictures, and what theory allows."""
