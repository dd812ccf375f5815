"""Random commands of many cores; what they compute is nonsense."""
from systolith.hw.config import Config, Region
from systolith.hw.isa import Command, Send
from systolith.sw.compiler.queues import VerifyError
from systolith.sw.compiler.verifier import verify_mesh
from systolith.sw.reference.addressing import RECEIVABLE, SENDABLE
from tests.random_streams import move, numbers, product, vector_pass


def commands(rng, config: Config, count: int) -> list[tuple[int, Command]]:
    """``count`` commands, each with the core that runs it, in an order in which they could run."""
    return [(int(rng.integers(config.cores)), _legal(rng, config)) for _ in range(count)]


def _legal(rng, config: Config) -> Command:
    """A command that does not run into itself, as a pass may that reads what it writes."""
    makers = [product] * 3 + [vector_pass] * 3 + [move] + [send] * 4
    while True:
        command = makers[rng.integers(len(makers))](rng, config)
        try:
            verify_mesh(config, [{command.ENGINE: [command]}, *([{}] * (config.cores - 1))])
        except VerifyError:
            continue
        return command


def send(rng, config: Config) -> Send:
    """To one core, a part of a row or column, or a rectangle; the own core may be in it."""
    bus = config.bus_bytes
    spans = {}
    for axis, size in (("x", config.mesh_width), ("y", config.mesh_height)):
        spans[f"{axis}_first"], spans[f"{axis}_last"] = sorted(map(int, rng.integers(size, size=2)))
    places = {name: value * bus for name, value in numbers(
        rng, base=100, stride=20, remote_base=100, remote_stride=20).items()}
    return Send(region=int(rng.choice(SENDABLE)), remote_region=int(rng.choice(RECEIVABLE)),
                rows=int(rng.integers(1, 6)), row_bytes=int(rng.integers(1, 9)) * bus,
                **places, **spans)


#: Memories that are compared.
REGIONS = [region for region in Region if region not in (Region.REGISTERS, Region.QUEUES)]
