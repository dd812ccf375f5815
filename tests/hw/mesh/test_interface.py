# amaranth: UnusedElaboratable=no
"""The network interface: beats become packets, packets become writes and signals, in order."""
import random

import cocotb
from cocotb.triggers import RisingEdge, gather

from systolith.hw.config import Region
from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.interface import ARRIVED, NetworkInterface, RemoteBeat
from systolith.hw.mesh.packet import Kind, packet_layout
from tests.bench import Stream, reset, simulate

CONFIG = MeshConfig(width=3, height=2, bus_bytes=4)
REGIONS = (Region.ACT, Region.WGT, Region.VEC, Region.CONST, Region.ROW)


async def start(dut):
    beat = Stream(dut, "beat", shape=RemoteBeat(bus_bytes=CONFIG.bus_bytes))
    o, i = (Stream(dut, name, shape=packet_layout(CONFIG)) for name in "oi")
    dut.reset.value = dut.bus__ready.value = 0
    await reset(dut, o, sources=[beat, i])
    return beat, o, i


def random_beat(rng):
    notify = rng.random() < 0.2
    target = {name: rng.randrange(3) for name in ("x_first", "x_last", "y_first", "y_last")}
    return {"remote": {"region": rng.choice(REGIONS), "target": target, "notify": notify,
                       "signal": rng.choice([0, rng.getrandbits(16)])},
            "address": 4 * rng.randrange(100), "last": notify or rng.random() < 0.4,
            "data": rng.getrandbits(32)}


def packets_of(beat):
    """(kind, target, region, address, data) of the packets; a signal has neither of the last but
    its data."""
    remote, result = beat["remote"], []
    target = tuple(remote["target"].values())
    if not remote["notify"]:
        result.append((Kind.WRITE, target, remote["region"], beat["address"], beat["data"]))
    if remote["notify"] or (beat["last"] and remote["signal"]):
        result.append((Kind.SIGNAL, target, None, None, remote["signal"]))
    return result


def seen(packet):
    target = tuple(getattr(packet.target, name)
                   for name in ("x_first", "x_last", "y_first", "y_last"))
    if packet.kind == Kind.SIGNAL:
        return Kind.SIGNAL, target, None, None, packet.data
    assert packet.mask == 15
    return Kind.WRITE, target, packet.region, packet.address, packet.data


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stall=[0, 0.5])
async def beats_become_packets(dut, stall):
    rng = random.Random(2)
    beat, o, _ = await start(dut)
    beats = [random_beat(rng) for _ in range(200)]
    expected = [packet for each in beats for packet in packets_of(each)]
    begin = cocotb.utils.get_sim_time("ns")
    _, packets = await gather(beat.send(beats, stall=stall),
                              o.receive(len(expected), stall=stall))
    assert [seen(packet) for packet in packets] == expected
    # One packet a cycle.
    assert stall or cocotb.utils.get_sim_time("ns") - begin <= 10 * (len(expected) + 2)


def random_packet(rng):
    return {"kind": rng.choice(list(Kind)), "region": rng.choice(REGIONS),
            "address": 4 * rng.randrange(100), "mask": rng.randrange(1, 16),
            "data": rng.getrandbits(32)}


def effect(packet):
    """What a packet does: a write as (region, address, mask, data), a signal as its mask."""
    if packet["kind"] == Kind.SIGNAL:
        return packet["data"] & 0xFFFF or None
    return packet["region"], packet["address"], packet["mask"], packet["data"]


async def watch(dut, effects, stall):
    """Accepts writes now and then; writes and signals in the order in which they happen."""
    rng = random.Random(8)
    while True:
        dut.bus__ready.value = rng.random() >= stall
        await RisingEdge(dut.clk)
        happened = []
        if dut.bus__valid.value and dut.bus__ready.value:
            assert dut.bus__write.value
            happened.append(tuple(int(dut[f"bus__{name}"].value)
                                  for name in ("region", "address", "mask", "data")))
        if int(dut.signal.value):
            happened.append(int(dut.signal.value))
        assert len(happened) <= 1
        effects += happened


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stall=[0, 0.5])
async def packets_are_executed_in_order(dut, stall):
    rng = random.Random(3)
    _, _, i = await start(dut)
    packets, effects = [random_packet(rng) for _ in range(300)], []
    cocotb.start_soon(watch(dut, effects, stall))
    begin = cocotb.utils.get_sim_time("ns")
    await i.send(packets, stall=stall)
    for _ in range(40):
        await RisingEdge(dut.clk)
    assert effects == [effect(each) for each in packets if effect(each) is not None]
    assert stall or cocotb.utils.get_sim_time("ns") - begin <= 10 * (len(packets) + 42)
    assert dut.swallowed.value == 0


@cocotb.test(timeout_time=20, timeout_unit="us")
async def a_reset_swallows_and_counts(dut):
    _, _, i = await start(dut)
    effects = []
    cocotb.start_soon(watch(dut, effects, 0))
    packet = {"kind": Kind.WRITE, "region": Region.ACT, "mask": 15}
    dut.reset.value = 1
    await i.send([packet | {"data": n} for n in range(5)])
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.reset.value = 0
    await i.send([packet | {"data": n} for n in range(10, 15)])
    for _ in range(5):
        await RisingEdge(dut.clk)
    assert dut.swallowed.value == 5
    assert [each[3] for each in effects if each[3] >= 10] == [10, 11, 12, 13, 14]


@cocotb.test(timeout_time=20, timeout_unit="us")
async def a_reset_between_data_and_their_signal_forgets_the_signal(dut):
    beat, o, _ = await start(dut)
    rng = random.Random(1)
    with_signal = random_beat(rng) | {"last": 1}
    with_signal["remote"] |= {"notify": 0, "signal": 3}
    sending = cocotb.start_soon(beat.send([with_signal]))
    await o.receive(1)
    sending.cancel()
    dut.beat__valid.value, dut.reset.value = 0, 1
    await RisingEdge(dut.clk)
    dut.reset.value = 0
    other = random_beat(rng) | {"last": 0}
    other["remote"] |= {"notify": 0}
    _, (packet,) = await gather(beat.send([other]), o.receive(1))
    assert packet.kind == Kind.WRITE


@cocotb.test(timeout_time=20, timeout_unit="us")
async def what_waits_holds_nothing_but_its_places(dut):
    _, _, i = await start(dut)
    sent = cocotb.start_soon(i.send([{"kind": Kind.WRITE, "mask": 15}] * (ARRIVED + 1)))
    for _ in range(10):
        await RisingEdge(dut.clk)
    assert not sent.done()
    assert not dut.i__ready.value
    dut.bus__ready.value = 1
    await sent


def test_interface():
    simulate(NetworkInterface(config=CONFIG), "interface", __name__)
