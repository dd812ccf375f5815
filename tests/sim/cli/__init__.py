"""Tests of the command line: what it prints, its JSON, exit codes, and mistakes."""
