"""Software of Systolith: reference, compiler, runtime."""
