"""RTL simulation: Verilator build, harness, device, command line."""
