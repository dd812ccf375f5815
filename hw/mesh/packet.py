"""What travels through the mesh: packets of a single flit."""
from amaranth.lib import data, enum

from systolith.hw.config import OFFSET_BITS, Region
from systolith.hw.mesh.config import COORDINATE_BITS


class Kind(enum.Enum, shape=1):
    """What a packet does where it arrives."""

    #: Writes those bytes of ``data`` that ``mask`` selects to ``region`` at ``address``.
    WRITE = 0
    #: Increments the semaphores that the lower 16 bits of ``data`` select.
    SIGNAL = 1


def target_layout() -> data.StructLayout:
    """The nodes that a packet goes to: all with ``x_first <= x <= x_last`` and the same for y.

    One node, a part of a row or column, or a rectangle. The node that sends the packet does not
    get it, wherever it is.
    """
    names = ("x_first", "x_last", "y_first", "y_last")
    return data.StructLayout(dict.fromkeys(names, COORDINATE_BITS))


def in_mesh(target, config):
    """Whether a target is in order: first coordinates not above the last, the last within the mesh.

    Parameters
    ----------
    target : View of target_layout()
        The nodes.
    config : MeshConfig
        Sizes of the mesh.
    """
    return ((target.x_first <= target.x_last) & (target.x_last < config.width)
            & (target.y_first <= target.y_last) & (target.y_last < config.height))


def packet_layout(config) -> data.StructLayout:
    """A packet: header and data travel side by side, so that none can be cut short.

    ``address`` is a byte offset in the region, a multiple of ``bus_bytes``. The router of the node
    that sends it fills in ``source_x`` and ``source_y``.

    Parameters
    ----------
    config : MeshConfig
        Its ``bus_bytes`` are the width of the data.
    """
    return data.StructLayout({
        "target": target_layout(), "source_x": COORDINATE_BITS, "source_y": COORDINATE_BITS,
        "kind": Kind, "region": Region, "address": OFFSET_BITS, "mask": config.bus_bytes,
        "data": 8 * config.bus_bytes,
    })


def packet_width(config) -> int:
    """Bits of a packet, for stages that do not look into it."""
    return packet_layout(config).size
