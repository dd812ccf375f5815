"""The pictures of the report page, drawn from a trace with matplotlib."""
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from systolith.hw.config import Config
from systolith.hw.isa import ENGINES, Engine
from systolith.sim.lost import BUSY, CAUSES
from systolith.sim.parts import Part
from systolith.sim.trace import State, Trace

#: Colors that people with color-blindness tell apart (Okabe and Ito, 2008), and greys.
COLORS = {BUSY: "#0072B2", "useful": "#0072B2", "padding": "#56B4E9", "loads": "#E69F00",
          "vector": "#CC79A7", "boundary": "#F0E442", "commands": "#009E73", "stall": "#D55E00",
          "before_first": "#BBBBBB", "after_last": "#888888"}
_STATE_COLORS = {State.BUSY: "#0072B2", State.STALL: "#D55E00", State.WAIT: "#E69F00",
                 State.FENCE: "#F0E442"}
_STATE_NAMES = {State.BUSY: "busy", State.STALL: "stalled", State.WAIT: "waits for a semaphore",
                State.FENCE: "fenced"}
_SHORT = {BUSY: "busy", "useful": "useful", "padding": "padding", "loads": "waits for moves",
          "vector": "waits for vector unit", "boundary": "between products",
          "commands": "no command sent", "stall": "stalled", "before_first": "before first product",
          "after_last": "after last product"}

#: Columns of the timeline, each the mean over as many cycles.
_BINS = 300


def timeline_figure(trace: Trace) -> Figure:
    """Share of the engines' states along the run."""
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    edges = np.linspace(0, trace.cycles, min(_BINS, trace.cycles) + 1)
    for axes, engine in zip(figure.subplots(len(ENGINES), 1, sharex=True), ENGINES, strict=True):
        shares = [_share(trace, engine, state, edges) for state in _STATE_COLORS]
        axes.stackplot(edges, *(np.append(share, share[-1]) for share in shares), step="post",
                       colors=list(_STATE_COLORS.values()), labels=list(_STATE_NAMES.values()),
                       linewidth=0)
        axes.set(ylim=(0, 1), xlim=(0, trace.cycles), yticks=())
        axes.set_ylabel(engine.name, rotation=0, ha="right", va="center")
    axes.set_xlabel("cycle")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=4,
                  frameon=False)
    return figure


def _share(trace: Trace, engine: Engine, state: State, edges: NDArray) -> NDArray:
    """Part of each bin that an engine spends in a state."""
    rows = trace.states_of(engine)
    rows = rows[rows["state"] == state]
    # Cycles spent in the state up to each edge: complete intervals and the one under way.
    lengths = np.concatenate([[0], np.cumsum(rows["end"] - rows["start"])]).astype(float)
    begun = np.searchsorted(rows["start"], edges, "right")
    ends = np.concatenate([[0], rows["end"]]).astype(float)[begun]
    spent = lengths[begun] - np.maximum(ends - edges, 0) * (begun > 0)
    return np.diff(spent) / np.diff(edges)


def lost_figure(cycles: int, lost: Mapping[str, float]) -> Figure:
    """One bar: all cycles, useful and lost by cause."""
    shares = {"useful": cycles - sum(lost.values()), **lost}
    figure = Figure(figsize=(11, 1.7), layout="constrained")
    axes = figure.subplots()
    _stack(axes, [""], [{key: value / cycles for key, value in shares.items()}])
    axes.set_yticks(())
    return figure


def parts_figure(parts: Sequence[Part]) -> Figure:
    """A bar a part: what the array's time in it is charged to."""
    figure = Figure(figsize=(11, 1.3 + 0.24 * len(parts)), layout="constrained")
    axes = figure.subplots()
    shares = [{cause: part.cycles.get(cause, 0) / part.total for cause in (BUSY, *CAUSES)}
              for part in parts]
    _stack(axes, [part.name for part in parts], shares)
    axes.invert_yaxis()
    for place, part in enumerate(parts):
        axes.text(1.01, place, f"{part.total:,} cycles", va="center", fontsize=8)
    return figure


def _stack(axes: Axes, names: Sequence[str], shares: Sequence[Mapping[str, float]]) -> None:
    """Bars of shares that add up to one; a cause below a thousandth everywhere is left out."""
    left = np.zeros(len(names))
    for cause in shares[0]:
        values = np.array([share[cause] for share in shares])
        if values.max() >= 0.001:
            bars = axes.barh(range(len(names)), values, left=left, color=COLORS[cause],
                             label=_SHORT[cause], height=0.75)
            dark = cause in (BUSY, "useful")
            axes.bar_label(bars, [f"{100 * value:.0f} %" if value >= 0.04 else ""
                                  for value in values], label_type="center", fontsize=8,
                           color="white" if dark else "black")
        left += values
    axes.set(xlim=(0, 1), ylim=(-0.6, len(names) - 0.4), yticks=range(len(names)),
             yticklabels=names)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=5,
                       frameon=False, fontsize=9)


def roofline_figure(config: Config, parts: Sequence[Part]) -> Figure:
    """Multiply-accumulates a cycle against those a byte of external memory, logarithmic."""
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    axes = figure.subplots()
    peak, bus = config.peak_macs_per_cycle, config.bus_bytes
    working = [part for part in parts if part.beats]
    intensities = [peak * part.beats / part.move_bytes for part in working if part.move_bytes]
    rates = [peak * part.beats / part.total for part in working]
    ridge = peak / bus
    left, right = min([0.5, *(each / 4 for each in intensities)]), 8 * max([ridge, *intensities])
    axes.plot([left, ridge, right], [left * bus, peak, peak], color="black", linewidth=1.2)
    axes.text(right, peak * 1.12, f"array: {peak} MACs a cycle", ha="right", fontsize=9)
    axes.text(2 * left, 1.3 * left * bus, f"external memory: {bus} bytes a cycle", fontsize=9)
    points: dict[str, list[tuple[float, float]]] = {}
    for part, rate in zip(working, rates, strict=True):
        # Where no byte is moved, the point stands at the right border.
        intensity = peak * part.beats / part.move_bytes if part.move_bytes else right
        points.setdefault(_kind(part.name), []).append((intensity, rate))
    for kind, places in points.items():
        axes.scatter(*zip(*places, strict=True), label=kind, s=28, alpha=0.8, clip_on=False,
                     zorder=3)
    axes.set(xscale="log", yscale="log", xlim=(left, right),
             ylim=(min([left * bus, *(rate / 2 for rate in rates)]), 2 * peak),
             xlabel="MACs a byte of external memory (at the right border: no byte moved)",
             ylabel="MACs a cycle")
    axes.grid(which="major", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", frameon=False, fontsize=9)
    return figure


def _kind(name: str) -> str:
    """A part's name without the number of its layer."""
    words = name.split()
    return " ".join(words[2:]) if words[0] == "layer" and len(words) > 2 else name
