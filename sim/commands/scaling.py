"""``systolith scaling``: a model of a billion weights over many chips, by the model of a step."""
from collections.abc import Sequence
from pathlib import Path

from systolith.hw.configs import get_config
from systolith.sim.text import percent, print_table, size
from systolith.sw.estimate.scaling import LINKS, LLAMA_1B, Link, Spread

#: Chips of the table: the largest core, alone and in meshes, and the board that can be built.
CHIPS = ("ecp5-85f", "mesh4", "mesh16", "deep16@2x2", "deep16@4x4", "deep16@8x8")

#: Clock of the chips, where the command line does not say: about what the ECP5 reaches.
MHZ = 100.0


def scale(*, length: int, mhz: float, chips: Sequence[str] = CHIPS,
          links: Sequence[Link] = tuple(LINKS.values())) -> list[Spread]:
    """Llama-3.2-1B on each kind of chip, with each link."""
    return [Spread(LLAMA_1B, get_config(chip), link, length, mhz)
            for chip in chips for link in links]


def print_spreads(spreads: Sequence[Spread]) -> None:
    """A line each."""
    print_table(
        ("chip", "cores", "weights", "chips", "of a layer", "link", "tokens/s, one text",
         "bound by", "of its time", "tokens/s, many texts"),
        ([each.config.name, f"{each.config.cores}", size(each.chip_bytes), f"{each.chips:,}",
          f"{each.split:,}", each.link.name, _rate(each.tokens_per_second), each.bound,
          percent(each.share), _rate(each.most_tokens_per_second)] for each in spreads))


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def plot(spreads: Sequence[Spread], path: Path) -> None:
    """Tokens a second of one text on each kind of chip, the largest first, a mark for each link."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    kinds = {each.config.name: each.chips for each in sorted(spreads, key=lambda s: s.chips)}
    for name in dict.fromkeys(each.link.name for each in spreads):
        rates = {each.config.name: each.tokens_per_second for each in spreads
                 if each.link.name == name}
        axes.plot([f"{kind}\n{chips:,}" for kind, chips in kinds.items() if kind in rates],
                  [rates[kind] for kind in kinds if kind in rates], "o", label=name)
    axes.set_yscale("log")
    axes.set_xlabel("kind of chip, and how many of it")
    axes.set_ylabel("tokens a second, one text")
    axes.grid(visible=True, which="both", alpha=0.3)
    figure.legend(loc="outside right upper")
    figure.savefig(path, dpi=100)
