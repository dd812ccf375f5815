"""Systems of others with the accelerator in them."""
