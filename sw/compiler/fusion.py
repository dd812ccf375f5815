"""How many operations ride on one pass of the vector unit: commands before and after fusion."""
from collections.abc import Iterable
from dataclasses import dataclass

from systolith.hw.isa import Addend, Combine, Command, Function, Pass, Reduce, Scale


@dataclass(frozen=True)
class Fusion:
    """Commands of all engines and passes among them, as emitted, and as many as there would be with
    a pass for each operation; likewise beats of the vector unit."""

    commands: int
    passes: int
    beats: int
    plain_commands: int
    plain_passes: int
    plain_beats: int

    def __sub__(self, other: "Fusion") -> "Fusion":
        return Fusion(*(mine - theirs for mine, theirs in zip(
            vars(self).values(), vars(other).values(), strict=True)))

    @property
    def saved(self) -> float:
        """Part of the commands that fusion saves."""
        return 1 - self.commands / self.plain_commands

    @property
    def saved_passes(self) -> float:
        """Part of the passes that fusion saves."""
        return 1 - self.passes / self.plain_passes


def operations(command: Pass) -> int:
    """Operations of a pass that each would be a pass of its own, at least one: the addition of a
    bias or a row's constant, the scale by column or tensor, that by row, the function, the
    combination with a stream, the reduction. Rounding, saturation and the layout of the result
    come with any of them."""
    return max(1, sum((
        command.addend != Addend.NONE, command.scale != Scale.NONE, bool(command.row_scale),
        command.function != Function.NONE, command.combine != Combine.NONE,
        command.reduce != Reduce.NONE)))


def count_fusion(commands: Iterable[Command]) -> Fusion:
    """Count the commands of a program."""
    everything = list(commands)
    passes = [command for command in everything if isinstance(command, Pass)]
    counts = [operations(command) for command in passes]
    beats = [command.rows * command.beats for command in passes]
    return Fusion(
        commands=len(everything), passes=len(passes), beats=sum(beats),
        plain_commands=len(everything) - len(passes) + sum(counts), plain_passes=sum(counts),
        plain_beats=sum(n * size for n, size in zip(counts, beats, strict=True)))
