"""Broken designs: a proof that cannot fail proves nothing."""
import importlib
import inspect
import types


def mutant(module: str, old: str, new: str) -> types.ModuleType:
    """A module of the hardware with one place of its source changed.

    Parameters
    ----------
    module : str
        Its name below ``systolith.hw``.
    old, new : str
        The change; ``old`` must be there exactly once.

    Raises
    ------
    ValueError
        When the source has changed, so the mutation must be written anew.
    """
    original = importlib.import_module(f"systolith.hw.{module}")
    source = inspect.getsource(original)
    if source.count(old) != 1:
        raise ValueError(f"{old!r} is {source.count(old)} times in hw/{module}, must be once")
    changed = types.ModuleType(original.__name__)
    changed.__file__ = original.__file__
    exec(compile(source.replace(old, new), original.__file__, "exec"), changed.__dict__)
    return changed
