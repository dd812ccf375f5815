"""The page of results: what stands between its two markers is made by commands, by section."""
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

BEGIN, END = "<!-- begin of generated tables -->\n", "<!-- end of generated tables -->\n"


def section(title: str, text: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A title, a text, and a table."""
    lines = [head, ["---"] * len(head), *rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"## {title}\n\n{text}\n\n{table}\n"


def percent(share: float | None) -> str:
    """A cell with a share of one; empty for None."""
    return "" if share is None else f"{100 * share:.1f} %"


def cells(part: str) -> list[list[str]]:
    """The rows of a section's table, without its head."""
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def old_section(title: str, page: Path) -> str | None:
    """The section of that title as it is now; None where there is none."""
    return _sections(page).get(f"## {title}")


def renew(sections: Iterable[str], page: Path, *, keep: Collection[str] | None = None) -> None:
    """Put sections into the page, each in the place of the one with its title, or after all.

    Parameters
    ----------
    keep : collection of str, optional
        Titles of others that stay; all of them by default.
    """
    before, _, rest = page.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    new = {_heading(part): part for part in sections}
    found = {heading: part for heading, part in _sections(page).items()
             if keep is None or heading in new or heading.removeprefix("## ") in keep}
    found |= new
    page.write_text(before + BEGIN + "\n" + "\n".join(found.values()) + "\n" + END + after)


def _sections(page: Path) -> dict[str, str]:
    """The sections between the markers by their headings."""
    made = page.read_text().partition(BEGIN)[2].partition(END)[0]
    return {_heading(part): part.strip() + "\n" for part in re.split(r"(?m)^(?=## )", made)
            if part.strip()}


def _heading(part: str) -> str:
    return part.partition("\n")[0]
