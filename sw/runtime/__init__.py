"""Programs and the devices that run them."""
