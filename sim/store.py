"""The build cache: folders keyed by the hash of all that went into them, safe for many builders."""
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

#: Entries that nobody has used for this long are removed when a new one is built.
KEEP_SECONDS = 30 * 24 * 3600

#: Names another folder for the cache.
CACHE_VARIABLE = "SYSTOLITH_CACHE"


def cache_folder() -> Path:
    """``SYSTOLITH_CACHE`` where set, else ``systolith`` in the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).resolve() if chosen else Path(platformdirs.user_cache_dir("systolith"))


def digest(*parts: str | bytes) -> str:
    """SHA-256 over the parts, each preceded by its length so that borders count."""
    result = hashlib.sha256()
    for part in parts:
        blob = part.encode() if isinstance(part, str) else part
        result.update(len(blob).to_bytes(8, "little") + blob)
    return result.hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock, which ends with the process at the latest."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _prune(kind: Path) -> None:
    limit = time.time() - KEEP_SECONDS
    for entry in kind.iterdir():
        if entry.is_dir() and entry.stat().st_mtime < limit:
            shutil.rmtree(entry, ignore_errors=True)


def cached(kind: str, key: str, build: Callable[[Path], None]) -> Path:
    """The folder ``<cache>/<kind>/<key>``, built at the first call.

    ``build(folder)`` fills a temporary folder, which takes its final name only once complete: a
    builder that is killed leaves nothing that looks finished. A second builder of the same key,
    in this process or another, waits for the first.

    Parameters
    ----------
    kind : str
        Name of a family of entries.
    key : str
        Hash of everything that the entry depends on.
    build : callable
        Called with the folder to fill; what it raises is passed on and nothing is kept.

    Returns
    -------
    Path
        The complete folder.
    """
    parent = cache_folder() / kind
    entry = parent / key[:40]
    if not entry.is_dir():
        parent.mkdir(parents=True, exist_ok=True)
        with _locked(parent / f"{entry.name}.lock"):
            if not entry.is_dir():
                _build(parent, entry, build)
    os.utime(entry)
    return entry


def _build(parent: Path, entry: Path, build: Callable[[Path], None]) -> None:
    _prune(parent)
    folder = Path(tempfile.mkdtemp(prefix="building-", dir=parent))
    try:
        build(folder)
        folder.rename(entry)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
