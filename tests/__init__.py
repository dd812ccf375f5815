"""Tests of Systolith."""
