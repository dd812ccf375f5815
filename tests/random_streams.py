"""Random commands that run into each other at every shared port; what they compute is nonsense."""
from systolith.hw.config import Region
from systolith.hw.isa import (
    ENGINES,
    Combine,
    Command,
    Engine,
    Function,
    Load,
    Pass,
    Product,
    Reduce,
    Scale,
    Sink,
    Source,
    Store,
    Table,
)
from systolith.sw.compiler.schedule import schedule


def streams(rng, config, count, *, ordered) -> dict[Engine, list[Command]]:
    """``count`` commands; ``ordered`` by tokens and fences as if they ran one by one, else free."""
    makers = [product] * 4 + [vector_pass] * 4 + [move] * 2
    commands = [makers[rng.integers(len(makers))](rng, config) for _ in range(count)]
    if ordered:
        return schedule(commands, config)
    return {engine: [command for command in commands if command.ENGINE == engine]
            for engine in ENGINES}


def numbers(rng, **limits):
    """A number from 0 to each limit."""
    return {name: int(rng.integers(0, limit + 1)) for name, limit in limits.items()}


def accumulators(rng, config) -> int:
    """A first word in the one half, the other, or just before the second."""
    half = config.acc_half
    return int(rng.choice([0, 7, half, half + 7, half - 10]))


def product(rng, config) -> Product:
    counts = {f"count{loop}": int(rng.integers(1, (6, 6, 3)[loop] + 1)) for loop in range(3)}
    return Product(**counts, acc_base=accumulators(rng, config), act0_stride=1, **numbers(
        rng, accumulate=1, act_base=40, wgt_base=40, wgt0_stride=1, wgt1_stride=2, acc0_stride=2,
        acc1_stride=3, acc2_stride=5))


def vector_pass(rng, config) -> Command:
    if rng.random() < 0.05:
        return Table(**numbers(rng, table=1, source_base=50))
    source = Source.VEC if rng.random() < 0.25 else Source.ACC
    base = accumulators(rng, config) if source == Source.ACC else int(rng.integers(99))
    combine = Combine(int(rng.integers(6))) if source == Source.ACC else Combine.NONE
    return Pass(
        source=source, source_base=base, source_tile_stride=1, combine=combine,
        rows=int(rng.integers(1, 11)), beats=int(rng.integers(1, 6)), valid=5 * config.lanes,
        reduce=Reduce(int(rng.integers(5))) if rng.random() < 0.5 else Reduce.NONE,
        sink=Sink(int(rng.integers(5))), scale=Scale(int(rng.integers(3))),
        function=Function(int(rng.integers(3))), stream_row_stride=1, sink_tile_stride=1,
        **numbers(rng, source_row_stride=4, stream_base=90, sink_base=30, sink_row_stride=3,
                  row_read=30, row_write=30))


def move(rng, config) -> Command:
    kind = Load if rng.random() < 0.5 else Store
    regions = [Region.ACT, Region.WGT, Region.VEC, Region.CONST if kind is Load else Region.ACC]
    bus = config.bus_bytes
    places = {name: value * bus for name, value in numbers(
        rng, ext_base=200, ext_stride=20, base=100, stride=20).items()}
    return kind(region=int(rng.choice(regions)), rows=int(rng.integers(1, 9)),
                row_bytes=int(rng.integers(1, 13)) * bus, **places)
