"""A simulated mesh that packets are played into: a thin layer over ``player.cpp``."""
import ctypes
import dataclasses
import json
from ctypes import c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.route import Port
from systolith.hw.verilog import to_verilog
from systolith.sim.chip import sources_digest
from systolith.sim.mesh.routes import receivers
from systolith.sim.mesh.top import TOP, MeshTop
from systolith.sim.progress import Progress
from systolith.sim.store import cached, digest
from systolith.sim.verilate import build_library

PLAYER = Path(__file__).with_name("player.cpp")

#: A packet: not sent before cycle ``time``, by ``node``, to the nodes of ``target``.
PACKET = np.dtype([("time", "<u8"), ("node", "<u4"), ("target", "<u4")])

#: A packet that has arrived: the cycle, the node that got it, index of the packet, coordinates of
#: its source (x in the lower 4 bits), and whether its content is as it was sent.
ARRIVAL = np.dtype([("cycle", "<u8"), ("node", "<u4"), ("packet", "<u4"), ("source", "<u4"),
                    ("good", "<u4")])

_SIGNATURES = {
    "create": (c_void_p, [c_uint32]),
    "destroy": (None, [c_void_p]),
    "play": (c_uint64, [c_void_p, c_void_p, c_uint64, c_uint64, c_uint64, c_uint64, c_uint32,
                        c_uint64, c_void_p, c_void_p, c_uint64]),
    "result": (c_uint64, [c_void_p, c_void_p, c_void_p]),
}

#: Arrivals beyond those expected that are noted: the scoreboard shall see packets that are twice.
_SPARE = 64


@dataclass(frozen=True)
class Played:
    """What happened.

    Parameters
    ----------
    cycles : int
        Until all had arrived, or the limit.
    accepted : ndarray of uint64
        The cycle in which the mesh took each packet; the largest number where it did not.
    arrivals : ndarray of ARRIVAL
        In the order of time.
    moved : ndarray of uint64, shape (nodes, 5)
        Packets that left each port in the window, columns as in :class:`Port`.
    dropped : ndarray of uint64, shape (nodes,)
        Packets of each node that went beyond the mesh, since the last reset.
    """

    cycles: int
    accepted: np.ndarray
    arrivals: np.ndarray
    moved: np.ndarray
    dropped: np.ndarray


class MeshPlayer:
    """A mesh in Verilator. Use it in a ``with`` statement, or close it.

    Parameters
    ----------
    config : MeshConfig
        Sizes of the mesh, which is built when the cache does not have it.
    progress : Progress, optional
        Where the stages of the build are shown.

    Raises
    ------
    ToolchainError
        When the mesh cannot be built.
    """

    def __init__(self, config: MeshConfig, *, progress: Progress | None = None):
        progress = progress or Progress(quiet=True)
        self.config = config
        folder = _sources(config, progress)
        library = build_library((folder / f"{TOP}.v").read_text(), top=TOP,
                                harness=folder / PLAYER.name, progress=progress)
        self._call = _functions(library)
        self._handle = self._call["create"](config.nodes)

    def __enter__(self) -> "MeshPlayer":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Free the simulation; nothing can be played any more."""
        self._call["destroy"](self._handle)

    def reset(self) -> None:
        """Empty the mesh: a run that met its limit leaves packets in it."""
        self._call["destroy"](self._handle)
        self._handle = self._call["create"](self.config.nodes)

    def play(self, packets: np.ndarray, *, limit: int, window: tuple[int, int] | None = None,
             stall_percent: int = 0, seed: int = 1) -> Played:
        """Send packets; each node sends its own in their order, each as soon as it may.

        Parameters
        ----------
        packets : ndarray of PACKET
        limit : int
            Cycles after which to stop, whatever has not arrived.
        window : (int, int), optional
            First cycle, and the one after the last, in which ``moved`` is counted; all by default.
        stall_percent : int
            Share of the cycles, 0 to 95, in which a node does not accept what arrives.
        seed : int
            Of these stalls.
        """
        packets = np.ascontiguousarray(packets, PACKET)
        accepted = np.full(len(packets), np.iinfo(np.uint64).max, np.uint64)
        room = int(receivers(packets["target"]).clip(0).sum()) + _SPARE
        arrivals = np.zeros(room, ARRIVAL)
        count = self._call["play"](self._handle, packets.ctypes.data, len(packets), limit,
                                   *(window or (0, limit)), stall_percent, seed,
                                   accepted.ctypes.data, arrivals.ctypes.data, room)
        moved = np.zeros((self.config.nodes, len(Port)), np.uint64)
        dropped = np.zeros(self.config.nodes, np.uint64)
        cycles = self._call["result"](self._handle, moved.ctypes.data, dropped.ctypes.data)
        return Played(cycles, accepted, arrivals[:count], moved, dropped)


def _sources(config: MeshConfig, progress: Progress) -> Path:
    """Folder with the Verilog of the top module and the C++ that drives it, from the cache."""
    nodes = " ".join(f"F({node})" for node in range(config.nodes))
    driver = f"#define SYSTOLITH_NODES(F) {nodes}\n{PLAYER.read_text()}"

    def build(folder: Path) -> None:
        with progress.stage("Verilog"):
            (folder / f"{TOP}.v").write_text(to_verilog(MeshTop(config=config), name=TOP).text)
        (folder / PLAYER.name).write_text(driver)

    key = digest(sources_digest(), Path(__file__).with_name("top.py").read_bytes(), driver,
                 json.dumps(dataclasses.asdict(config), sort_keys=True))
    return cached("verilog", key, build)


def _functions(library: Path) -> dict:
    """The functions of a library, each with its types declared, under their short names."""
    loaded = ctypes.CDLL(str(library))
    functions = {}
    for name, (result, arguments) in _SIGNATURES.items():
        functions[name] = function = getattr(loaded, f"systolith_mesh_{name}")
        function.restype, function.argtypes = result, arguments
    return functions
