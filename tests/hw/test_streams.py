"""Reads a waveform of the whole core and checks the rule of every stream: what is offered and not
taken stays, unchanged."""
import pytest
from vcdvcd import VCDVCD

from systolith.sim.rtl import RtlDevice
from tests.hw.programs import chain, fill
from tests.hw.test_core import LIMIT, SMALL

#: What a master of the bus drives.
MASTER = ("region", "write", "address", "mask", "data")

ENGINES = ("move", "matrix", "vector")

#: Every stream of the core, as scope below the chip, name, and signals that must stay.
STREAMS = [
    *(("", name, ("payload",)) for name in (
        "host_request", "host_response", "ext_request", "ext_write", "ext_read")),
    *(("core0.host", name, ("payload",)) for name in ("request", "response")),
    *(("core0.external", name, ("payload",)) for name in ("access", "request", "write", "read")),
    *((f"core0.control.{engine}_queue", name, ("payload",)) for engine in ENGINES for name in "io"),
    *((f"core0.control.{engine}_sequencer", name, ("payload",)) for engine in ENGINES
      for name in ("words", "port__command")),
    *(("core0.move", name, ("payload",)) for name in ("port__command", "access")),
    ("core0.move.walk", "command", ("payload",)),
    *((f"core0.move.{queue}", name, ("payload",)) for queue in ("destinations", "beats")
      for name in "io"),
    ("core0.matrix", "engine__command", ("payload",)),
    ("core0.vector", "engine__command", ("payload",)),
    *(("core0.bus", master, MASTER) for master in ("host", "mover")),
    *(("core0.bus", f"{region}__{way}", payload)
      for region in ("act", "wgt", "vec", "const", "row", "acc")
      for way, payload in (("read", ("address",)), ("write", ("address", "mask", "data")))),
]


@pytest.fixture(scope="module")
def waves(tmp_path_factory):
    path = tmp_path_factory.mktemp("waves") / "core.vcd"
    with RtlDevice(SMALL, stall_percent=40, seed=3, trace=True) as device:
        device.trace(path)
        fill(device, seed=3, size=256)
        device.run(chain(SMALL, repeat=2))
        device.wait(LIMIT)
    return VCDVCD(str(path))


def signals(waves):
    """Path in the waveform of each signal, by its name below the chip."""
    return {path.split("[")[0].split("chip.", 1)[1].removeprefix("chip."): path
            for path in waves.references_to_ids if "chip." in path}


def samples(waves, path, edges):
    """Values of a signal just before each clock edge."""
    changes, values, at = waves[path].tv, [], 0
    for edge in edges:
        while at + 1 < len(changes) and changes[at + 1][0] < edge:
            at += 1
        values.append(changes[at][1])
    return values


def rising_edges(waves):
    clock = next(path for path in waves.references_to_ids if path.endswith("chip.clk"))
    return [time for time, value in waves[clock].tv if value == "1"]


def test_every_stream_keeps_what_was_not_taken(waves):
    edges, paths, stalls = rising_edges(waves), signals(waves), 0
    assert len(edges) > 1000
    for scope, prefix, kept in STREAMS:
        start = f"{scope}.{prefix}__".removeprefix(".")
        values = {name: samples(waves, paths[start + name], edges)
                  for name in ("valid", "ready", *kept)}
        valid, ready = values["valid"], values["ready"]
        stalled = [i for i in range(len(edges) - 1) if valid[i] == "1" and ready[i] == "0"]
        stalls += len(stalled)
        for name in ("valid", *kept):
            now = values[name]
            broken = [i for i in stalled if now[i + 1] != now[i]]
            assert not broken, f"{scope} {prefix}: {name} changed at {edges[broken[0]]} ps, stalled"
    assert stalls > 1000
