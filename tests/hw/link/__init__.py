"""Tests of the link's hardware."""
