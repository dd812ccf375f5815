"""The accelerator as a part of a larger system on a chip: its ports as Wishbone buses."""
