"""The link: a UART and the frames on it, between a host and the chip."""
