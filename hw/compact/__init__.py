"""The compact core: the same commands and numbers from one microprogrammed engine and 16 cells."""
