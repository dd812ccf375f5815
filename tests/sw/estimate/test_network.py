"""Packets on the links of the mesh, against the routers' rules and their limits."""
import numpy as np
import pytest

from systolith.hw.configs import get_config
from systolith.hw.isa import Notify, Send
from systolith.hw.mesh import route
from systolith.hw.mesh.config import MeshConfig
from systolith.sw.estimate.network import (
    QUEUE_DEPTH,
    SIGNAL,
    STEPS,
    WRITE,
    Area,
    Link,
    Network,
    Port,
    Sender,
)

CONFIG = get_config("tiny@4x4")


class Kept:
    """A core that keeps what comes."""

    def __init__(self):
        self.writes, self.signals = [], []

    def receive(self, command, writes, signal):
        self.writes += writes.tolist()
        self.signals += [] if signal is None else [signal]


def mesh():
    network, cores = Network(CONFIG), [Kept() for _ in range(16)]
    return network, cores, [Sender(network, number, cores) for number in range(16)]


def to(area, beats=1, signal=0):
    rectangle = dict(zip(("x_first", "x_last", "y_first", "y_last"), area, strict=True))
    return Send(region=0, rows=1, row_bytes=4 * beats, base=0, remote_region=0, remote_base=0,
                remote_signal=signal, **rectangle)


def send(sender, command, beats, start=0):
    return sender.send(command, np.arange(start, start + beats), -1, last=True).tolist()


def test_ports_and_queues_are_those_of_the_hardware():
    assert {port.name: port.value for port in Port} == {p.name: p.value for p in route.Port}
    assert {port.name: step for port, step in STEPS.items()} == {
        port.name: step for port, step in route.STEPS.items()}
    assert MeshConfig.of(CONFIG).queue_depth == QUEUE_DEPTH


@pytest.mark.parametrize(("sender", "area"), [
    (0, (3, 3, 3, 3)), (5, (0, 3, 0, 3)), (5, (0, 3, 1, 1)), (6, (2, 2, 0, 3)), (9, (0, 1, 0, 1)),
    (15, (0, 0, 0, 0))])
def test_a_packet_comes_once_to_each_of_its_cores_by_row_then_column(sender, area):
    area = Area(*area)
    way = Network(CONFIG).way(sender, area)
    ends = [branch.link.node for branch in way if branch.link.port == Port.LOCAL]
    inside = [y * 4 + x for y in range(area.y_first, area.y_last + 1)
              for x in range(area.x_first, area.x_last + 1)]
    assert sorted(ends) == sorted(set(inside) - {sender})
    assert len({branch.link for branch in way}) == len(way)
    for branch in way:
        before = way[branch.before].link.port if branch.before is not None else Port.LOCAL
        assert not (before in (Port.NORTH, Port.SOUTH) and branch.link.port in (Port.EAST,
                                                                                Port.WEST))


@pytest.mark.parametrize(("target", "hops"), [((1, 1, 0, 0), 1), ((3, 3, 0, 0), 3),
                                              ((3, 3, 3, 3), 6)])
def test_zero_load_latency_is_a_cycle_a_hop_and_one(target, hops):
    _, cores, senders = mesh()
    assert send(senders[0], to(target, 3, signal=1), 3, start=10) == [10, 11, 13], \
        "the packet of signals goes with the last beat"
    core = cores[target[2] * 4 + target[0]]
    assert core.writes == [10 + hops + 1 + WRITE + beat for beat in range(3)]
    assert core.signals == [13 + hops + 1 + SIGNAL]


def test_a_notify_is_one_packet():
    network, cores, senders = mesh()
    command = Notify(x_first=1, x_last=1, y_first=0, y_last=0, remote_signal=1)
    assert send(senders[0], command, 1) == [0]
    assert (cores[1].writes, len(cores[1].signals)) == ([], 1)
    assert network.packets == {Link(0, Port.EAST): 1, Link(1, Port.LOCAL): 1}


def test_a_link_takes_one_packet_a_cycle():
    """Two senders to one core: it gets one packet in each cycle, all of both, and a sender that
    is too fast waits for room in the queues."""
    _, cores, senders = mesh()
    for beat in range(0, 64, 4):
        for number in (1, 4):
            wish = np.arange(beat, beat + 4)
            last = senders[number].send(to((0, 0, 0, 0), 4), wish, -1, last=False)
    assert sorted(cores[0].writes) == list(range(2 + WRITE, 2 + WRITE + 128))
    assert 128 - 5 * QUEUE_DEPTH <= last[-1] <= 128


def test_senders_that_do_not_meet_do_not_wait():
    _, cores, senders = mesh()
    send(senders[0], to((1, 1, 0, 0), 50), 50)
    send(senders[8], to((1, 1, 2, 2), 50), 50)
    assert cores[1].writes == cores[9].writes == list(range(2 + WRITE, 52 + WRITE))


def test_a_copy_for_all_costs_each_link_one_packet():
    network, cores, senders = mesh()
    send(senders[5], to((0, 3, 0, 3), 7), 7)
    assert set(network.packets.values()) == {7}
    assert len(network.packets) == 15 + 15, "as many links as cores that are reached, twice"
    assert all(len(core.writes) == 7 for number, core in enumerate(cores) if number != 5)
