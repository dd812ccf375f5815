"""Hardware of Systolith: configuration, instruction set and blocks, in Amaranth."""
