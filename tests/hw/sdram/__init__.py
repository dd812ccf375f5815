"""Tests of the controller of an SDRAM."""
