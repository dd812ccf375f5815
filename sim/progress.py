"""Progress of long steps on standard error: a live line on a terminal, plain lines elsewhere."""
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn


class Progress:
    """Shows named stages with the seconds each took, on standard error.

    Parameters
    ----------
    quiet : bool
        Show nothing; seconds are still recorded.

    Attributes
    ----------
    seconds : dict[str, float]
        Duration of each finished stage, by name.
    """

    def __init__(self, *, quiet: bool = False):
        self.quiet = quiet
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage and show it; a stage that raises is shown as failed."""
        start = time.perf_counter()
        outcome = "failed"
        try:
            with self._live(name):
                yield
            outcome = "done"
        finally:
            seconds = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
            if not self.quiet:
                print(f"{name:<28} {outcome:<6} {seconds:6.1f} s", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Print one line that belongs to no stage."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    @contextmanager
    def _live(self, name: str) -> Iterator[None]:
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            bar.add_task(name, total=None)
            yield
