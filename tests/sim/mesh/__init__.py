"""Tests of the traffic simulation."""
