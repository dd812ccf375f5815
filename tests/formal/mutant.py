"""Broken designs: a proof that cannot fail proves nothing."""
import importlib
import inspect
import sys
import types

#: Where a changed class takes the place of the original.
_USERS = ("systolith.hw", "tests.formal")


def break_design(monkeypatch, module: str, old: str, new: str) -> None:
    """Change one place in the source of a module of the hardware, for one test.

    Its classes and functions take the place of the original ones wherever hardware and proofs have
    imported them.

    Parameters
    ----------
    monkeypatch : pytest.MonkeyPatch
        Undoes it at the end of the test.
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
    for name, value in list(vars(original).items()):
        if getattr(value, "__module__", None) == original.__name__:
            _replace(monkeypatch, value, getattr(changed, name))


def _replace(monkeypatch, value, changed):
    for name, user in list(sys.modules.items()):
        if name.startswith(_USERS):
            for attribute, present in list(vars(user).items()):
                if present is value:
                    monkeypatch.setattr(user, attribute, changed)
