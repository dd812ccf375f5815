"""Tests of the compact core."""
