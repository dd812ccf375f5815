"""A picture of what runs where: cores with their work, links with what they carry."""
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from systolith.hw.mesh.config import MeshConfig
from systolith.sim.mesh.pictures import LOADS, draw_links

#: Inches of a core along x and y.
_SIZE = 2.6

#: Background of a core at work, and of one that is off.
_ON, _OFF = "#FFFFFF", "#CCCCCC"


def write_place(config: MeshConfig, texts: Sequence[str], on: Sequence[bool], links: np.ndarray,
                path: Path, title: str) -> None:
    """Draw the mesh from above.

    Parameters
    ----------
    config : MeshConfig
    texts : sequence of str
        What is written in each core.
    on : sequence of bool
        Whether it has anything to do.
    links : ndarray of float64, shape (nodes, 5)
        Beats out of each port, as in :class:`systolith.hw.mesh.route.Port`.
    path : Path
        .png, .svg or .pdf.
    title : str
    """
    figure = Figure(figsize=(_SIZE * config.width + 1.6, _SIZE * config.height + 0.6),
                    layout="constrained")
    axes = figure.subplots()
    most = max(float(links.max()), 1.0)
    draw_links(axes, config, links, most)
    for node, (text, works) in enumerate(zip(texts, on, strict=True)):
        y, x = divmod(node, config.width)
        axes.text(x, y, text, ha="center", va="center", fontsize=7, zorder=3,
                  bbox={"boxstyle": "round", "facecolor": _ON if works else _OFF})
    axes.set_title(title, fontsize=9)
    figure.colorbar(ScalarMappable(Normalize(0, most), LOADS), ax=axes, label="beats of a run",
                    shrink=0.8)
    figure.savefig(path, dpi=100, metadata={"Date": None} if path.suffix == ".svg" else None)
