"""The cycle model on what was recorded."""
import dataclasses

import numpy as np

from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine, Load, Product
from systolith.sim.modelled import modelled_cycles, recorded_programs
from systolith.sim.rtl import RtlDevice
from systolith.sw.compiler import compile_product
from tests.sim.traces import make_trace


def test_commands_are_told_apart_by_run():
    first, second = Product(count0=1), Product(count0=2)
    trace = make_trace(40, runs=(0, 20), program={Engine.MATRIX: (first, second),
                                                  Engine.MOVE: (Load(),)},
                       commands=[(Engine.MATRIX, 0, 3, 25), (Engine.MATRIX, 1, 20, 30),
                                 (Engine.MOVE, 0, 21, 39)])
    assert list(recorded_programs(trace)) == [
        {Engine.MOVE: [], Engine.MATRIX: [first], Engine.VECTOR: []},
        {Engine.MOVE: [Load()], Engine.MATRIX: [second], Engine.VECTOR: []}]


def test_several_runs_on_the_rtl():
    """The model sees the commands that ran, and others take other times."""
    config = get_config("tiny")
    product = compile_product(config, m=20, k=30, n=40, resident=False)
    fenced = {engine: [dataclasses.replace(each, fence=1) for each in
                       product.program.commands[engine]] for engine in ENGINES}
    cycles, models = [], []
    with RtlDevice(config) as device:
        for commands in (product.program.commands, fenced):
            product.program.load(device)
            with device.record() as recorder:
                device.run(commands)
                cycles.append(device.wait().cycles)
                models.append(modelled_cycles(recorder.trace()))
        with device.record() as recorder:
            product.run(device)
            product.run(device)
            both = modelled_cycles(recorder.trace())
    np.testing.assert_allclose(models, cycles, rtol=0.02)
    assert cycles[1] > 1.1 * cycles[0]
    assert both == 2 * models[0]
