"""The microprogram of the compact core, a text for :mod:`systolith.hw.compact.assembler`."""
