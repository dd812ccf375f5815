"""The controller of an SDRAM chip: external memory of 16 bits behind the port of the machine."""
