"""Reports as text: facts under their names, and tables."""
from collections.abc import Collection, Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from systolith.hw.config import Config

#: Least width of the names of facts, so that several lists of them line up.
NAME_WIDTH = 13


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Names, and beside each what is to be said, wrapped to the terminal."""
    table = Table.grid(padding=(0, 3))
    table.add_column(min_width=NAME_WIDTH)
    table.add_column()
    for fact in facts:
        table.add_row(*fact)
    _print_trimmed(table)


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table whose first column is text and whose others are numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if index else "left")
    for row in rows:
        table.add_row(*row)
    _print_trimmed(table, whole=True)


def _print_trimmed(table: Table, *, whole: bool = False) -> None:
    """Print without the blanks that fill lines; brackets in a prompt are no markup. ``whole``: cut
    nothing off where no terminal sets a width."""
    console = Console(markup=False, highlight=False, emoji=False)
    if whole and not console.is_terminal:
        unbounded = console.options.update(max_width=1 << 16)
        console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        print(line.rstrip())
    print()


def number(value: float | None) -> str:
    """A count as text; a dash for None."""
    return "-" if value is None else f"{value:,}"


def percent(part: float | None) -> str:
    """A part of one as text; a dash for None."""
    return "-" if part is None else f"{100 * part:.1f} %"


def size(count: int) -> str:
    """Bytes as text, in MiB from one on."""
    return f"{count / (1 << 20):g} MiB" if count >> 20 else f"{count / 1024:g} KiB"


def cores_and_cells(config: Config, off: Collection[int] = ()) -> str:
    """A configuration as text: its name, cores and cells, and the cores that are switched off."""
    cells = f"{config.rows} x {config.cols} cells"
    if config.cores == 1:
        return f"{config.name}: {cells}"
    without = f", without {', '.join(map(str, sorted(set(off))))}" if off else ""
    return f"{config.name}: {config.cores} cores of {cells}{without}"
