"""The control of a core: queues, sequencers, semaphores, registers, counters, first fault."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.counters import Counters, EngineActivity
from systolith.hw.faults import Faults
from systolith.hw.interfaces import EnginePort, command_layout
from systolith.hw.isa import ENGINES, Engine, Product
from systolith.hw.move_walk import mover_layout
from systolith.hw.queue import Queue
from systolith.hw.registers import MeshState, RegisterPort, Registers
from systolith.hw.semaphores import MASK_BITS, Semaphores
from systolith.hw.sequencer import Sequencer
from systolith.hw.vector.issue import COMMAND_LAYOUT

#: What each engine sees of its commands.
LAYOUTS = {Engine.MOVE: mover_layout(), Engine.MATRIX: command_layout(Product),
           Engine.VECTOR: COMMAND_LAYOUT}


#: Other cores among those who signal semaphores; the fault of one is told as the host's.
REMOTE = len(Engine)


class Control(wiring.Component):
    """Wires what brings commands to the engines and tells the host about it.

    Parameters
    ----------
    config : :class:`Config`
        All sizes.

    Members
    -------
    registers : In(RegisterPort)
        The host's access to the registers.
    push, overrun : In(3), word : In(32), full : Out(3)
        The host's access to the queues, see :class:`HostPort`.
    address_fault : In(1)
        The host named a bad address.
    move, matrix, vector : Out(EnginePort)
        The engines.
    moved : In(1)
        The mover moved a beat.
    mesh : In(MeshState), remote_signal : In(16)
        The node, and semaphores that other cores signal; only where there are some.
    reset : Out(1)
        Reset the engines. This component resets itself.
    """

    def __init__(self, *, config):
        self._config = config
        engines = len(ENGINES)
        super().__init__({
            "registers": In(RegisterPort()),
            "push": In(engines), "overrun": In(engines), "word": In(32), "full": Out(engines),
            "address_fault": In(1),
            **{engine.name.lower(): Out(EnginePort(LAYOUTS[engine])) for engine in ENGINES},
            "moved": In(1), "reset": Out(1),
            **({"mesh": In(MeshState()), "remote_signal": In(MASK_BITS)}
               if config.cores > 1 else {}),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.registers = registers = Registers(config=config)
        m.submodules.counters = counters = Counters(beat_bytes=config.bus_bytes)
        mesh = config.cores > 1
        semaphores = Semaphores(count=config.semaphores, width=config.semaphore_width,
                                signallers=len(Engine) + mesh)
        faults = Faults()
        reset = ResetInserter(self.reset)
        m.submodules.semaphores, m.submodules.faults = reset(semaphores), reset(faults)
        connect(m, flipped(self.registers), registers.port)
        idle = []
        for engine in ENGINES:
            queue, sequencer = self._engine(m, engine, reset, registers, semaphores, faults,
                                            counters)
            idle.append(sequencer.empty & ~sequencer.pending & ~sequencer.activity.active
                        & queue.empty)
        self._watch(m, registers, semaphores, faults, counters)
        if mesh:
            self._mesh(m, registers, semaphores, faults)
        m.d.comb += registers.idle.eq(Cat(idle).all())
        return m

    def _engine(self, m, engine, reset, registers, semaphores, faults, counters):
        """Queue and sequencer of one engine."""
        name = engine.name.lower()
        queue = Queue(shape=32, depth=self._config.queue_depth)
        sequencer = Sequencer(engine=engine, layout=LAYOUTS[engine])
        m.submodules[f"{name}_queue"] = reset(queue)
        m.submodules[f"{name}_sequencer"] = reset(sequencer)
        connect(m, queue.o, sequencer.words)
        connect(m, sequencer.port, flipped(getattr(self, name)))
        connect(m, sequencer.report, getattr(faults, name))
        # Whether an engine stalls is known late, and counters are many: they count a cycle late.
        activity = EngineActivity().create(path=(f"{name}_activity",))
        m.d.sync += [getattr(activity, member).eq(getattr(sequencer.activity, member))
                     for member in activity.signature.members]
        connect(m, activity, getattr(counters, name))
        m.d.comb += [
            queue.i.valid.eq(self.push[engine]), queue.i.payload.eq(self.word),
            self.full[engine].eq(~queue.i.ready), registers.space[engine].eq(queue.space),
            sequencer.run.eq(registers.run), sequencer.halt.eq(faults.stopped),
            semaphores.request[engine].eq(sequencer.request),
            semaphores.wait[engine].eq(sequencer.wait),
            sequencer.grant.eq(semaphores.grant[engine]),
            semaphores.signal[engine].eq(sequencer.signal),
            registers.waiting[engine].eq(sequencer.activity.waiting),
            registers.active[engine].eq(sequencer.pending | sequencer.activity.active),
        ]
        return queue, sequencer

    def _mesh(self, m, registers, semaphores, faults):
        connect(m, flipped(self.mesh), registers.mesh)
        m.d.comb += semaphores.signal[REMOTE].eq(self.remote_signal)
        with m.If(semaphores.overflow[REMOTE]):
            m.d.comb += faults.overflow[Engine.HOST].eq(1)

    def _watch(self, m, registers, semaphores, faults, counters):
        m.d.comb += [
            semaphores.signal[Engine.HOST].eq(registers.signal),
            registers.semaphores.eq(semaphores.values),
            faults.overflow.eq(semaphores.overflow[:len(Engine)]), faults.overrun.eq(self.overrun),
            faults.address.eq(self.address_fault),
            registers.stopped.eq(faults.stopped), registers.fault.eq(faults.fault),
            registers.cycles.eq(counters.cycles), registers.move_bytes.eq(counters.move_bytes),
            registers.counters.eq(counters.values),
            self.reset.eq(registers.reset),
        ]
        m.d.sync += [
            # A stopped core keeps its counters for the host to see.
            counters.enable.eq(registers.run & ~registers.idle & ~faults.stopped),
            counters.clear.eq(registers.clear), counters.moved.eq(self.moved),
        ]
