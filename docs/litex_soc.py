"""A LiteX system with the accelerator, as an example: no processor, its bus comes out as pins.

    systolith generate --config tiny --port wishbone -o build/tiny
    python docs/litex_soc.py build/tiny -o build/soc.v
"""
import argparse
import contextlib
import json
from pathlib import Path

from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
from litex.build.io import CRG
from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCMini
from litex.soc.interconnect import wishbone
from migen import ClockSignal, Instance, ResetSignal, Signal

#: Where the accelerator is, and the memory that it shares with the system.
ACCELERATOR, MEMORY = 0x3000_0000, 0x4000_0000
#: As much of the chip's external memory as the system has. Programs that need more get garbage.
MEMORY_BYTES = 1 << 17
#: Signals of a Wishbone bus: from the master, and from the slave.
FORTH, BACK = ("cyc", "stb", "we", "adr", "sel", "dat_w"), ("dat_r", "ack", "err")

PINS = [
    ("clk", 0, Pins(1)), ("rst", 0, Pins(1)), ("memory_error", 0, Pins(1)),
    ("host", 0, *(Subsignal(name, Pins(width)) for name, width in (
        ("cyc", 1), ("stb", 1), ("we", 1), ("adr", 30), ("sel", 4), ("dat_w", 32), ("dat_r", 32),
        ("ack", 1), ("err", 1)))),
]


class Systolith(LiteXModule):
    """The accelerator in a folder of ``systolith generate --port wishbone``.

    ``bus`` is its slave, whose addresses are ``bytes`` long, ``memory`` its master; ``error`` tells
    that memory refused a beat.
    """

    def __init__(self, platform, folder, *, memory_base):
        manifest = json.loads((Path(folder) / "manifest.json").read_text())
        widths = {port["name"]: port["width"] for port in manifest["ports"]}
        self.bytes = 4 << widths["host__adr"]
        self.bus = wishbone.Interface(data_width=32, adr_width=30)
        self.memory = wishbone.Interface(data_width=widths["memory__dat_w"],
                                         adr_width=widths["memory__adr"])
        self.error = Signal()
        ports = {f"i_host__{name}": getattr(self.bus, name) for name in FORTH}
        # The place of the window in the system is the system's matter.
        ports["i_host__adr"] = self.bus.adr[:widths["host__adr"]]
        ports |= {f"o_host__{name}": getattr(self.bus, name) for name in BACK}
        ports |= {f"o_memory__{name}": getattr(self.memory, name) for name in FORTH}
        ports |= {f"i_memory__{name}": getattr(self.memory, name) for name in BACK}
        self.specials += Instance(
            manifest["top"], i_clk=ClockSignal(), i_rst=ResetSignal(), i_memory_base=memory_base,
            o_memory_error=self.error, o_host__stall=Signal(), **ports)
        platform.add_source(str(Path(folder) / f"{manifest['top']}.v"))


class System(SoCMini):
    """The accelerator, memory, and a bus from outside in place of a processor."""

    def __init__(self, platform, folder):
        super().__init__(platform, clk_freq=int(50e6))
        self.crg = CRG(platform.request("clk"), platform.request("rst"))
        self.add_ram("main_ram", MEMORY, MEMORY_BYTES)
        self.accelerator = core = Systolith(platform, folder, memory_base=MEMORY)
        self.bus.add_slave("accelerator", core.bus, SoCRegion(origin=ACCELERATOR, size=core.bytes,
                                                              cached=False))
        self.bus.add_master("accelerator", core.memory)
        host, pins = wishbone.Interface(data_width=32, adr_width=30), platform.request("host")
        self.bus.add_master("host", host)
        self.comb += [getattr(host, name).eq(getattr(pins, name)) for name in FORTH]
        self.comb += [getattr(pins, name).eq(getattr(host, name)) for name in BACK]
        self.comb += platform.request("memory_error").eq(core.error)


def write_system(folder, output):
    """Write the Verilog of the system around the accelerator in ``folder``.

    LiteX puts the content of its memories beside it.
    """
    output = Path(output).resolve()
    platform = GenericPlatform("", PINS, name="soc")
    system = System(platform, folder)
    system.finalize()
    with contextlib.chdir(output.parent):
        platform.get_verilog(system, name="soc").write(output.name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="folder with systolith.v and manifest.json")
    parser.add_argument("-o", "--output", default="soc.v", help="Verilog of the system")
    arguments = parser.parse_args()
    write_system(arguments.folder, arguments.output)
