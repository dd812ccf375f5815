"""Gate level: the netlists that go into FPGAs, as Verilog for simulation."""
