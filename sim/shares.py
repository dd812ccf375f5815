"""What was lost of a run, in percent of its cycles."""
from collections.abc import Iterable, Mapping

import numpy as np

from systolith.hw.isa import Command, Function, Pass
from systolith.sim.lost import CAUSES, lost_cycles
from systolith.sim.measure import Measure
from systolith.sim.trace import Trace

#: Causes in the order of tables; ``masked``: scores that the causal mask takes out again, in tiles
#: that it cuts.
SHARES = (*CAUSES, "masked")

#: Decimals of a percentage.
DECIMALS = 3


def masked_macs(commands: Iterable[Command], head_dim: int) -> int:
    """Multiply-accumulates for scores between real positions that the causal mask takes out.

    Each costs ``head_dim`` in the scores and again in the mixed values. The passes that compute
    the powers say which scores there were.
    """
    cells = 0
    for command in commands:
        if isinstance(command, Pass) and command.causal and command.function == Function.EXP2:
            seen = np.minimum(command.valid, command.position + np.arange(command.rows) + 1)
            cells += command.rows * command.valid - int(seen.sum())
    return 2 * head_dim * cells


def lost_shares(measure: Measure, trace: Trace, head_dim: int = 0) -> dict[str, float]:
    """Percent of the cycles by cause, all of :data:`SHARES`; with the percentage of useful work
    they add up to 100, but for the rounding of floating point.

    Parameters
    ----------
    measure : Measure
        Of the runs in the recording.
    trace : Trace
    head_dim : int
        Elements of a head; 0 where there is no causal mask.

    Raises
    ------
    ValueError
        When there are more useful multiply-accumulates than beats.
    """
    peak = measure.config.peak_macs_per_cycle
    # Cycles are multiples of one multiply-accumulate's share.
    macs = {cause: round(cycles * peak)
            for cause, cycles in lost_cycles(trace, measure.macs).items()}
    commands = (command for stream in trace.program.values() for command in stream)
    macs["masked"] = masked_macs(commands, head_dim)
    macs["padding"] -= macs["masked"]
    shares = percentages({"useful": measure.macs, **macs})
    return {cause: shares[cause] for cause in SHARES}


def percentages(parts: Mapping[str, int]) -> dict[str, float]:
    """Parts of their sum in percent, rounded so that they still add up: the largest remainders
    are rounded up."""
    whole, unit = sum(parts.values()), 100 * 10 ** DECIMALS
    floors = {name: divmod(part * unit, whole) for name, part in parts.items()}
    short = unit - sum(floor for floor, _ in floors.values())
    up = sorted(floors, key=lambda name: -floors[name][1])[:short]
    return {name: (floor + (name in up)) / 10 ** DECIMALS for name, (floor, _) in floors.items()}
