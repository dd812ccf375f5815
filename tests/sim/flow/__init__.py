"""Tests of the flow to a bitstream."""
