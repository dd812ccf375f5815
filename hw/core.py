"""One core: three engines, their memories, and what controls them."""
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.accumulator import Accumulator
from systolith.hw.activation_memory import ActivationMemory
from systolith.hw.bus import MASTERS, MESH_MASTERS, Bus
from systolith.hw.config import BEATS_IN_FLIGHT, Config
from systolith.hw.control import Control
from systolith.hw.external import ExternalPort, ExternalRequest
from systolith.hw.host import HostPort, HostRequest
from systolith.hw.isa import ENGINES
from systolith.hw.matrix import MatrixEngine
from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.guard import DROPPED_BITS
from systolith.hw.mesh.interface import NetworkInterface
from systolith.hw.mesh.packet import packet_layout
from systolith.hw.mesh.route import Place
from systolith.hw.mover import Mover
from systolith.hw.vector.unit import VectorUnit
from systolith.hw.weight_memory import WeightMemory


def chip_ports(config):
    """Members of a chip's signature: host port and port to external memory."""
    if not isinstance(config, Config):
        raise TypeError(f"config must be a Config, not {config!r}")
    beat = stream.Signature(8 * config.bus_bytes)
    return {
        "host_request": In(stream.Signature(HostRequest())),
        "host_response": Out(stream.Signature(32)),
        "ext_request": Out(stream.Signature(ExternalRequest())),
        "ext_write": Out(beat),
        "ext_read": In(beat),
    }


def core_ports(config):
    """Members of a core's signature: those of a chip, and where there are several, its node."""
    ports = chip_ports(config)
    if config.cores > 1:
        packet = stream.Signature(packet_layout(MeshConfig.of(config)))
        ports |= {"place": In(Place()), "packet_out": Out(packet), "packet_in": In(packet),
                  "dropped": In(DROPPED_BITS)}
    return ports


class Core(wiring.Component):
    """Wires a core; nothing is computed here.

    CONTROL.RESET resets the engines and their control, the bus and the first fault. Memories,
    counters and the host port go on, and the external port ends what it owes to the memory.

    Parameters
    ----------
    config : :class:`Config`
        All sizes.

    Members
    -------
    host_request : In(stream of HostRequest), host_response : Out(stream of 32 bits)
        See :class:`HostPort`.
    ext_request, ext_write : Out(stream), ext_read : In(stream)
        See :class:`ExternalPort`.
    place : In(Place), packet_out : Out(stream), packet_in : In(stream), dropped : In(16)
        The node of the mesh, see :class:`NetworkInterface` and :class:`Router`; only where there
        are several cores. They are all alike: their place is an input.

    Raises
    ------
    TypeError
        When ``config`` is no :class:`Config`.
    """

    def __init__(self, *, config):
        super().__init__(core_ports(config))
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.control = control = Control(config=config)
        self._reset = ResetInserter(control.reset)
        mover, matrix, vector = (
            Mover(config=config), MatrixEngine(config=config), VectorUnit(config=config))
        for engine, unit in zip(ENGINES, (mover, matrix, vector), strict=True):
            m.submodules[engine.name.lower()] = self._reset(unit)
        for engine, port in zip(ENGINES, (mover.port, matrix.engine, vector.engine), strict=True):
            connect(m, getattr(control, engine.name.lower()), port)
        m.d.comb += control.moved.eq(mover.moved)
        bus = self._bus(m, mover)
        if config.cores > 1:
            self._mesh(m, mover, bus, control)
        self._memories(m, bus, matrix, vector)
        self._host(m, bus, control)
        self._external(m, mover, control)
        return m

    def _bus(self, m, mover):
        masters = MESH_MASTERS if self._config.cores > 1 else MASTERS
        bus = Bus(bus_bytes=self._config.bus_bytes, masters=masters,
                  read_latency=self._config.system_read_latency)
        m.submodules.bus = self._reset(bus)
        connect(m, mover.bus, bus.mover)
        return bus

    def _mesh(self, m, mover, bus, control):
        m.submodules.interface = interface = NetworkInterface(config=MeshConfig.of(self._config))
        connect(m, mover.remote, interface.beat)
        connect(m, interface.bus, bus.remote)
        connect(m, interface.o, flipped(self.packet_out))
        connect(m, flipped(self.packet_in), interface.i)
        connect(m, flipped(self.place), control.mesh.place)
        m.d.comb += [
            interface.reset.eq(control.reset), control.remote_signal.eq(interface.signal),
            control.mesh.swallowed.eq(interface.swallowed), control.mesh.dropped.eq(self.dropped),
        ]

    def _memories(self, m, bus, matrix, vector):
        config = self._config
        m.submodules.activations = activations = ActivationMemory(config=config)
        m.submodules.weights = weights = WeightMemory(config=config)
        m.submodules.accumulator = accumulator = Accumulator(config=config)
        connect(m, matrix.activations, activations.array)
        connect(m, matrix.weights, weights.array)
        connect(m, matrix.accumulators, accumulator.array)
        connect(m, vector.acc, accumulator.read)
        connect(m, vector.act, activations.write)
        connect(m, vector.wgt, weights.write)
        connect(m, bus.act, activations.system)
        connect(m, bus.wgt, weights.system)
        connect(m, bus.acc, accumulator.system)
        connect(m, bus.vec, vector.vec_system)
        connect(m, bus.const, vector.const_system)
        connect(m, bus.row, vector.row_system)

    def _host(self, m, bus, control):
        m.submodules.host = host = HostPort(config=self._config)
        connect(m, flipped(self.host_request), host.request)
        connect(m, host.response, flipped(self.host_response))
        connect(m, host.bus, bus.host)
        connect(m, host.registers, control.registers)
        m.d.comb += [
            control.push.eq(host.push), control.word.eq(host.word), host.full.eq(control.full),
            control.overrun.eq(host.overrun), control.address_fault.eq(host.fault),
            host.hold.eq(control.reset),
        ]

    def _external(self, m, mover, control):
        m.submodules.external = external = ExternalPort(
            bus_bytes=self._config.bus_bytes, outstanding=BEATS_IN_FLIGHT)
        connect(m, mover.access, external.access)
        m.d.comb += [
            mover.answer.eq(external.answer), mover.answered.eq(external.answered),
            mover.written.eq(external.written), external.flush.eq(control.reset),
        ]
        connect(m, external.request, flipped(self.ext_request))
        connect(m, external.write, flipped(self.ext_write))
        connect(m, flipped(self.ext_read), external.read)
