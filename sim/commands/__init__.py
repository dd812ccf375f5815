"""What the commands of the command line do; :mod:`systolith.sim.cli` has their options."""
