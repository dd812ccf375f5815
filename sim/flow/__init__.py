"""From Verilog to a bitstream with open tools: Yosys, nextpnr and the packers."""
