"""Gate level."""
