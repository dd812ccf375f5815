"""What a router costs on an ECP5, by Yosys, and how fast it is, by nextpnr."""
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from systolith.hw.boards.boards import BOARDS
from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.guard import DROPPED_BITS
from systolith.hw.mesh.packet import packet_width, target_layout
from systolith.hw.mesh.route import OPPOSITE, Port
from systolith.hw.mesh.router import Router
from systolith.hw.verilog import to_verilog
from systolith.sim.flow.place import try_seeds
from systolith.sim.flow.synthesis import synthesized
from systolith.sim.progress import Progress
from systolith.sim.text import number, print_facts

#: The board on whose chip routers are measured.
BOARD = BOARDS["ulx3s-85f"]

_TOP = "top"


class RouterLoop(wiring.Component):
    """A router with five ports that is its own neighbour on all sides: all paths of a mesh, and
    only four pins. Alone, with its ports as pins, it would be optimized for other paths.

    Members
    -------
    i, o : In(1), Out(1)
        What the node sends, bit by bit, and a sum of what it receives; through registers.
    """

    def __init__(self, *, config: MeshConfig):
        self._config = config
        self._bits = packet_width(config) + 2
        super().__init__({"i": In(1), "o": Out(1)})

    @property
    def registers(self) -> int:
        """Bits of registers that are not the router's."""
        return 2 * self._bits + len(Port) + DROPPED_BITS + target_layout().size + 1

    def elaborate(self, platform):
        m = Module()
        m.submodules.router = router = Router(config=self._config)
        for port, opposite in OPPOSITE.items():
            connect(m, getattr(router, f"to_{port.name.lower()}"),
                    getattr(router, f"from_{opposite.name.lower()}"))
        sent = Signal(self._bits)
        found = Cat(router.to_local.payload, router.to_local.valid, router.from_local.ready,
                    router.moved, router.dropped, router.fault)
        received = Signal(len(found))
        m.d.sync += [sent.eq(Cat(self.i, sent)), received.eq(found), self.o.eq(received.xor())]
        m.d.comb += [
            router.place.x.eq(1), router.place.y.eq(1),
            Cat(Value.cast(router.from_local.payload), router.from_local.valid,
                router.to_local.ready).eq(sent),
        ]
        return m


@dataclass(frozen=True)
class Area:
    """Cells, by kind, and clock of a router with five ports on an ECP5."""

    cells: Mapping[str, int]
    mhz: float

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return {**self.cells, "mhz": round(self.mhz, 1)}

    def print(self) -> None:
        """One line."""
        counts = ", ".join(f"{number(count)} {kind}" for kind, count in self.cells.items() if count)
        print_facts([("router", f"{counts}; {self.mhz:.0f} MHz with its links")])


def area(config: MeshConfig, *, progress: Progress) -> Area:
    """Both, in this order; errors as of :func:`router_cells` and :func:`router_mhz`."""
    with progress.stage("Yosys"):
        cells = router_cells(config)
    with progress.stage("nextpnr"):
        return Area(cells, router_mhz(config))


def router_cells(config: MeshConfig) -> dict[str, int]:
    """Cells of a router with five ports, by kind; a ``lutram`` takes the place of four LUTs.

    Of :class:`RouterLoop` without its registers. The sum of what is received, a LUT for each three
    bits, is counted.

    Raises
    ------
    FlowError
        When Yosys is missing or fails.
    """
    loop = RouterLoop(config=config)
    cells = json.loads((_synthesize(loop) / "cells.json").read_text())
    return {**cells, "ff": cells["ff"] - loop.registers}


def router_mhz(config: MeshConfig, *, seed: int = 1) -> float:
    """The clock that a router and its links reach in a chip where there is nothing else.

    Raises
    ------
    FlowError
        When Yosys or nextpnr is missing or fails.
    """
    netlist = _synthesize(RouterLoop(config=config)) / "netlist.json"
    trial, = try_seeds(BOARD, netlist, "", seeds=[seed], jobs=1)
    return trial.timing.mhz


def _synthesize(design: wiring.Component) -> Path:
    """Folder with ``netlist.json`` and ``cells.json``."""
    return synthesized(BOARD.family, to_verilog(design, name=_TOP).text, top=_TOP,
                       progress=Progress(quiet=True))
