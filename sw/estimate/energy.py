"""From counts to joules: an estimate out of published energies, never a measurement."""
from collections.abc import Mapping
from dataclasses import dataclass

from systolith.hw.config import TABLE_SEGMENTS, Config, Region
from systolith.sw.estimate import energies
from systolith.sw.estimate.activity import QUEUES, TABLES, Activity
from systolith.sw.estimate.energies import Device, Switching
from systolith.sw.estimate.span import Span, total

#: Parts of the energy in the order of tables.
PARTS = ("array", "memories", "vector unit", "external memory", "clock", "static")

#: Operations of an element of the vector unit if every stage of it works: what the high end takes.
ALL_MULTIPLIES, ALL_ADDS = 4, 6

_PJ = 1e-12


@dataclass(frozen=True, kw_only=True)
class Technology:
    """What the core is made of.

    Parameters
    ----------
    mhz : float
        Clock.
    switching : Switching
        How much the array's registers toggle.
    device : Device, optional
        The FPGA; by default a 45 nm chip.
    sdram : bool
        External memory is an SDRAM on the board. Where it is not and there is a device, it is
        block RAM.
    """

    mhz: float
    switching: Switching
    device: Device | None = None
    sdram: bool = False

    @property
    def factor(self) -> Span:
        """Energy of an operation over that in a 45 nm chip."""
        return energies.figures("fpga")["factor"].span if self.device else Span(1, 1)


def energy(config: Config, counts: Activity, technology: Technology) -> dict[str, Span]:
    """Joules of a run by part, all of :data:`PARTS`.

    ``array``: a multiplication and an addition for each cell and beat, by the switching of product
    and sum registers, and the 32-bit additions of the accumulators. ``memories``: bytes of each
    on-chip memory times the energy of one of its size. ``vector unit``: the operations that the
    passes ask for, at the high end all that its stages can do. ``clock``: where a device has a
    figure. ``static``: power at rest times the time of the run; in a chip a part of the rest.
    """
    dynamic = {
        "array": _array(counts, technology) * technology.factor,
        "memories": _memories(config, counts, technology) * technology.factor,
        "vector unit": _vector(counts) * technology.factor,
        "external memory": _external(config, counts, technology),
        "clock": (technology.device.clock if technology.device else Span()) * float(counts.cycles)}
    joules = {name: span * _PJ for name, span in dynamic.items()}
    return {**joules, "static": _static(counts, technology, joules)}


def _array(counts: Activity, technology: Technology) -> Span:
    chip, switching = energies.figures("chip"), technology.switching
    cell = chip["multiply8"].span * switching.product + chip["add32"].span * switching.sum
    return (cell * float(counts.cell_operations)
            + chip["add32"].span * (switching.sum * counts.accumulations))


def _vector(counts: Activity) -> Span:
    chip = energies.figures("chip")
    multiply, add = chip["multiply32x16"].span, chip["add32"].span
    return (multiply * Span(counts.multiplies, ALL_MULTIPLIES * counts.elements)
            + add * Span(counts.adds, ALL_ADDS * counts.elements))


def _memories(config: Config, counts: Activity, technology: Technology) -> Span:
    sizes = bank_bytes(config)
    return total([_access(sizes[name], technology) * float(moved)
                  for name, moved in counts.memory_bytes.items()])


def _access(size: int, technology: Technology) -> Span:
    """pJ of a byte of a memory, before the factor."""
    word = (energies.figures("fpga")["ram8k"].span if technology.device
            else energies.sram_word(size))
    return word * (1 / energies.SRAM_BYTES)


def bank_bytes(config: Config) -> Mapping[str, int]:
    """Bytes of the memory that one access goes to, by name."""
    banks = {Region.ACT: 1, Region.WGT: config.rows, Region.VEC: 1, Region.CONST: 1, Region.ROW: 1,
             Region.ACC: 2}
    return {**{region.name.lower(): config.region_bytes(region) // count
               for region, count in banks.items()},
            TABLES: 4 * TABLE_SEGMENTS, QUEUES: 4 * config.queue_depth}


def _external(config: Config, counts: Activity, technology: Technology) -> Span:
    moved = float(counts.external_bytes)
    if technology.device is None:
        return energies.figures("chip")["external_byte"].span * moved
    if technology.sdram:
        return energies.figures("fpga")["sdram_byte"].span * moved
    return _access(config.ext_bytes, technology) * technology.factor * moved


def _static(counts: Activity, technology: Technology, joules: Mapping[str, Span]) -> Span:
    if technology.device is None:
        on_chip = total([span for name, span in joules.items() if name != "external memory"])
        return on_chip * energies.figures("chip")["leakage"].span
    watts = technology.device.static
    if technology.sdram:
        watts += energies.figures("fpga")["sdram_standby"].span
    return watts * (counts.cycles / (technology.mhz * 1e6))


def assumptions(technology: Technology) -> list[str]:
    """Every figure that an estimate of that technology uses, with its source, a line each."""
    used = {name: figure for name, figure in energies.figures("chip").items()
            if not (technology.device and name in ("leakage", "external_byte", "sram8k",
                                                   "sram32k", "sram1m"))}
    if technology.device:
        used |= {name: figure for name, figure in energies.figures("fpga").items()
                 if technology.sdram or not name.startswith("sdram")}
    lines = [f"{name}: {_ends(figure.span)} {figure.unit}; {figure.source}"
             for name, figure in used.items()]
    if technology.device:
        device = technology.device
        lines.append(f"device: {_ends(device.static)} W at rest, {_ends(device.clock)} pJ a cycle; "
                     f"{device.source}")
    switching = technology.switching
    return [*lines,
            f"switching: {switching.product:.3g} of random products, {switching.sum:.3g} of random "
            f"sums; {switching.source}",
            "not counted: wires between parts, clock tree of a chip, pins, voltage regulators"]


def _ends(span: Span) -> str:
    return f"{span.low:g}" if span.low == span.high else f"{span.low:g} to {span.high:g}"
