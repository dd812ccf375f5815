"""Tests of the bridges to buses of a system."""
