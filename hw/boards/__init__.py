"""Boards: pins, clocks and the top level that goes into their FPGA."""
