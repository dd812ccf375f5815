"""How fast the chip is generated, built and simulated."""
