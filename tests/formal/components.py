"""Every component of the hardware but the boards' own, and an instance of each."""
import importlib
import inspect
import pkgutil

from amaranth.lib import wiring

from systolith import hw
from systolith.hw import isa
from systolith.hw.control import LAYOUTS
from systolith.hw.link.baud import baud_step
from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.route import Port
from systolith.hw.sdram.timing import WORD_BYTES, SdramChip, SdramTiming
from tests.formal.sizes import COMPACT, CONFIG

CLOCK_HZ = 1_000_000
#: Of the bit timers of the link, for eight cycles a bit.
STEP = baud_step(clock_hz=CLOCK_HZ, baud=CLOCK_HZ // 8)
#: What holds vendors' primitives and no streams.
VENDOR = "systolith.hw.boards."
#: A mesh with all ports in its middle.
MESH = MeshConfig(width=3, height=3, bus_bytes=4, queue_depth=2)

#: The cores of what joins some.
UNCORE = CONFIG.replace(mesh_width=2)

#: A small SDRAM, and its times in a slow clock.
CHIP = SdramChip(row_bits=8, column_bits=4, timing=SdramTiming(startup=100))
CYCLES = CHIP.timing.cycles(25e6)
BURST = CONFIG.bus_bytes // WORD_BYTES

#: Arguments of the components that are not made from a configuration alone.
ARGUMENTS = {
    "Accesses": {"chip": CHIP, "depth": 2},
    "AddressGenerator": {"place_bits": 2},
    "Alu": {},
    "Bank": {"cycles": CYCLES, "burst": BURST, "row_bits": CHIP.row_bits},
    "BeatToWords": {"burst": BURST},
    "Beats": {"bus_bytes": CONFIG.bus_bytes},
    "BitTimer": {"step": STEP, "start": 0},
    "Buffer": {"shape": 8},
    "Bus": {"bus_bytes": CONFIG.bus_bytes},
    "CellRow": {"cols": CONFIG.cols, "hop": CONFIG.hop, "chain_width": CONFIG.chain_width},
    "CompactArray": {"config": COMPACT},
    "CompactCore": {"config": COMPACT},
    "CompactLoops": {"config": COMPACT},
    "Columns": {"chip": CHIP, "cycles": CYCLES, "burst": BURST},
    "Counters": {"beat_bytes": CONFIG.bus_bytes},
    "Crc": {},
    "Engine": {"code": [0], "constants": [0], "status_address": 12},
    "Executor": {"ext_bytes": CONFIG.ext_bytes, "bus_bytes": CONFIG.bus_bytes},
    "ExternalBuffer": {"bus_bytes": CONFIG.bus_bytes},
    "ExternalMerge": {"bus_bytes": CONFIG.bus_bytes, "count": 3, "reads": 4},
    "ExternalPort": {"bus_bytes": CONFIG.bus_bytes, "outstanding": 4},
    "ExternalRam": {"bus_bytes": CONFIG.bus_bytes, "size": 16},
    "ExternalShare": {"bus_bytes": CONFIG.bus_bytes},
    "Faults": {},
    "Fork": {"config": MESH, "ports": tuple(Port)},
    "FrameReceiver": {"step": STEP},
    "FrameSender": {},
    "FunctionTables": {"lanes": CONFIG.lanes, "tables": CONFIG.tables},
    "Guard": {"config": MESH},
    "HostRouter": {"cores": 3},
    "Judge": {"bus_bytes": CONFIG.bus_bytes},
    "Link": {"clock_hz": CLOCK_HZ, "baud": CLOCK_HZ // 8, "ext_bytes": CONFIG.ext_bytes,
             "bus_bytes": CONFIG.bus_bytes},
    "LutMultipliers": {"cols": 2},
    "Machine": {"config": CONFIG, "clock_hz": CLOCK_HZ, "baud": CLOCK_HZ // 8},
    "Memories": {"config": COMPACT},
    "Memory": {"width": 16, "depth": 4},
    "Merge": {"width": 8, "count": 3},
    "Mesh": {"config": MESH},
    "NetworkInterface": {"config": MESH},
    "Queue": {"shape": 8, "depth": 4},
    "Refresher": {"period": CYCLES.refresh},
    "Requests": {"chip": CHIP, "bus_bytes": CONFIG.bus_bytes},
    "Retire": {"late_cycles": 3},
    "Ring": {"width": 8, "cycles": 4},
    "Rows": {"chip": CHIP},
    "ScalarUnit": {"latency": CONFIG.scalar_cycles},
    "Router": {"config": MESH},
    "RowMultiplier": {},
    "Scheduler": {"chip": CHIP, "cycles": CYCLES, "burst": BURST},
    "Sdram": {"chip": CHIP, "clock_hz": 25e6, "bus_bytes": CONFIG.bus_bytes},
    "Semaphores": {"count": CONFIG.semaphores, "width": CONFIG.semaphore_width},
    "Sequencer": {"engine": isa.Engine.MATRIX, "layout": LAYOUTS[isa.Engine.MATRIX]},
    "SharedRam": {},
    "SharedMemory": {"word_bytes": 8, "depth": 4, "bus_bytes": 4},
    "Stage": {"shape": 8},
    "Startup": {"cycles": CYCLES, "burst": BURST},
    "SystemAnswer": {"word_bytes": 8, "bus_bytes": 4},
    "Uncore": {"config": UNCORE},
    "UartReceiver": {"step": STEP},
    "UartSender": {"step": STEP},
    "WishboneMemory": {"bus_bytes": CONFIG.bus_bytes},
    "WordsToBeat": {"burst": BURST, "delay": 4},
}
#: Those that are made from a number of lanes.
LANES = ("Addend", "Combine", "Reduce", "Saturate", "Scale", "ScaleWords", "Validity")


def component_classes():
    """All component classes of the hardware but those with vendors' primitives, by name."""
    found = {}
    for info in pkgutil.walk_packages(hw.__path__, "systolith.hw."):
        if info.name.startswith(VENDOR):
            continue
        module = importlib.import_module(info.name)
        for name, member in inspect.getmembers(module, inspect.isclass):
            if issubclass(member, wiring.Component) and member.__module__ == info.name:
                found[name] = member
    return found


def create(name):
    """A component of the smallest size."""
    if name in ARGUMENTS:
        arguments = ARGUMENTS[name]
    elif name in LANES:
        arguments = {"lanes": CONFIG.lanes}
    else:
        arguments = {"config": CONFIG}
    return component_classes()[name](**arguments)
