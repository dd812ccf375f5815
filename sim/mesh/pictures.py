"""Pictures of traffic: curves beside their bounds, and the links of the mesh as a heat map."""
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.route import STEPS, Port
from systolith.sim.mesh.traffic import Curve

#: Colors that people with color-blindness tell apart (Okabe and Ito, 2008).
_MEAN, _TAIL, _BOUND = "#0072B2", "#E69F00", "#888888"

#: From no load to the highest.
LOADS = mpl.colormaps["viridis"]

#: Highest latency that is shown, as a multiple of the one without load.
_HIGHEST = 8

#: How far both directions of a link are from the line between the nodes, and from the nodes.
_APART, _OFF = 0.09, 0.22


def write_picture(config: MeshConfig, curves: Sequence[Curve], path: Path) -> None:
    """A column a pattern: latency, throughput, and the load of the links at the highest load."""
    figure = Figure(figsize=(2.9 * len(curves) + 0.8, 8), layout="constrained")
    rows = figure.subplots(3, len(curves), squeeze=False)
    for curve, (top, middle, bottom) in zip(curves, rows.T, strict=True):
        top.set_title(curve.pattern)
        _latency(top, curve)
        _throughput(middle, curve)
        draw_links(bottom, config, curve.links)
        bottom.set_title(f"links at load {curve.points[-1].offered:.3g}", fontsize=9)
    figure.colorbar(ScalarMappable(Normalize(0, 1), LOADS), ax=list(rows[2]),
                    label="packets a cycle")
    rows[0][0].legend(fontsize=7)
    figure.savefig(path, dpi=80, metadata={"Date": None} if path.suffix == ".svg" else None)


def _latency(axes: Axes, curve: Curve) -> None:
    known = [point for point in curve.points if point.latency_mean is not None]
    offered = [point.offered for point in known]
    axes.plot(offered, [point.latency_mean for point in known], ".-", color=_MEAN, label="mean")
    axes.plot(offered, [point.latency_p99 for point in known], ".-", color=_TAIL,
              label="99th percentile")
    axes.axhline(curve.zero_load_latency, color=_BOUND, ls=":", label="hops + 1")
    axes.axvline(curve.limits.least, color=_BOUND, ls="--", label="bound of the load")
    axes.set(xlim=(0, 1.1 * curve.limits.least), ylim=(0, _HIGHEST * curve.zero_load_latency),
             ylabel="latency, cycles")


def _throughput(axes: Axes, curve: Curve) -> None:
    least = curve.limits.least
    axes.plot([0, least, 1.1 * least], [0, least, least], color=_BOUND, ls="--")
    axes.plot([point.offered for point in curve.points],
              [point.throughput for point in curve.points], ".-", color=_MEAN)
    axes.set(xlim=(0, 1.1 * least), ylim=(0, 1.1 * least), ylabel="packets a cycle and node",
             xlabel="offered, packets a cycle and node")
    axes.text(0.95, 0.08, f"{100 * curve.share:.0f} % of the bound\n({curve.limits.name})",
              ha="right", transform=axes.transAxes, fontsize=8)


def draw_links(axes: Axes, config: MeshConfig, loads: np.ndarray, most: float = 1) -> None:
    """The mesh from above: nodes in the color of what they receive, links in that of their load.

    Each direction of a link keeps to its right.

    Parameters
    ----------
    loads : ndarray of float64, shape (nodes, 5)
        Packets a cycle out of each port, as in :class:`Port`.
    most : float
        The load of the brightest color.
    """
    segments, values = [], []
    for node in range(config.nodes):
        here = np.array([node % config.width, node // config.width])
        for port, step in STEPS.items():
            there = here + step
            if (there < 0).any() or (there >= (config.width, config.height)).any():
                continue
            # y points down, so right of (dx, dy) is (-dy, dx).
            aside = _APART * np.array([-step[1], step[0]])
            segments.append([here + _OFF * np.array(step) + aside,
                             there - _OFF * np.array(step) + aside])
            values.append(loads[node, port])
    lines = LineCollection(segments, cmap=LOADS, norm=Normalize(0, most), linewidths=3)
    lines.set_array(np.array(values))
    axes.add_collection(lines)
    y, x = np.divmod(np.arange(config.nodes), config.width)
    axes.scatter(x, y, c=loads[:, Port.LOCAL], cmap=LOADS, norm=Normalize(0, most), marker="s",
                 s=60)
    axes.set(xlim=(-0.5, config.width - 0.5), ylim=(config.height - 0.5, -0.5), aspect="equal",
             xticks=(), yticks=())
    axes.set_frame_on(False)
