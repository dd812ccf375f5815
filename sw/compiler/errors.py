"""The compiler's error."""


class CompileError(ValueError):
    """A layer that cannot be compiled. Names what, how much it needs, and how much there is."""
