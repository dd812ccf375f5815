"""Counts of what programs do, against sums by hand and against the cycle model's counters."""
from dataclasses import replace

import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import (
    Addend,
    Combine,
    Engine,
    Function,
    Load,
    Pass,
    Product,
    Reduce,
    Scale,
    Sink,
    Source,
    Table,
)
from systolith.sw.decoder import compile_decoder
from systolith.sw.decoder.compiled import Shape
from systolith.sw.estimate import estimate
from systolith.sw.estimate.activity import QUEUES, TABLES, activity
from systolith.sw.models import load_model

TINY = get_config("tiny")  # 4 x 4 cells, 4 lanes


def counts(command, cycles=0):
    return activity(TINY, {command.ENGINE: [command]}, cycles)


def data_bytes(result):
    return {name: size for name, size in result.memory_bytes.items() if size and name != QUEUES}


def test_a_product():
    # Five rows with three tiles of weights each, added up: weights change with every beat.
    command = Product(count0=3, count1=5, count2=1, act0_stride=1, act1_stride=3, wgt0_stride=1,
                      acc1_stride=1)
    result = counts(command, cycles=20)
    assert (result.cycles, result.cell_operations, result.accumulations) == (20, 15 * 16, 15 * 4)
    # 4 bytes of activations and 16 of weights a beat; the accumulators are forwarded.
    assert data_bytes(result) == {"act": 15 * 4, "wgt": 15 * 16, "acc": 15 * 16}


def test_a_product_whose_weights_stay_and_whose_accumulators_come_back():
    command = Product(count0=5, count1=3, count2=1, act0_stride=3, act1_stride=1, wgt1_stride=1,
                      acc0_stride=1)
    # Three loads of weights; all but the first five beats read what lies five beats back.
    assert data_bytes(counts(command)) == {"act": 15 * 4, "wgt": 3 * 16, "acc": (15 + 10) * 16}


def test_a_pass():
    command = Pass(source=Source.ACC, addend=Addend.COLUMN, scale=Scale.COLUMN, row_scale=1,
                   function=Function.LINEAR, combine=Combine.MULTIPLY, reduce=Reduce.SUM,
                   sink=Sink.ACT, rows=3, beats=2, valid=8)
    result = counts(command)
    assert result.elements == 3 * 2 * 4
    # Scale, table and product with the stream; bias, rounding, table and sum.
    assert (result.multiplies, result.adds) == (24 * 3, 24 * 4)
    assert data_bytes(result) == {
        "acc": 6 * 16, "vec": 6 * 8, "const": 6 * 32, "row": 3 * 2 * 4, TABLES: 24 * 4, "act": 24}


def test_moves_and_tables():
    load = Load(region=Region.WGT, rows=3, row_bytes=64)
    assert (data_bytes(counts(load)), counts(load).external_bytes) == ({"wgt": 192}, 192)
    assert data_bytes(counts(Table())) == {"vec": 64 * 8, TABLES: 64 * 4}


def test_a_doubled_count_doubles_what_depends_on_it_alone():
    command = Pass(source=Source.VEC, sink=Sink.VEC, rows=3, beats=2, valid=8)
    once, twice = counts(command), counts(replace(command, rows=6))
    assert twice.elements == 2 * once.elements
    assert twice.memory_bytes["vec"] == 2 * once.memory_bytes["vec"]
    assert twice.memory_bytes[QUEUES] == once.memory_bytes[QUEUES]


@pytest.mark.parametrize("config", ["tiny", "sim16"])
def test_a_step_of_glassllm_counts_as_the_cycle_model_does(config):
    config = get_config(config)
    program = compile_decoder(load_model("glassllm"), config).run(Shape(1, 20)).program
    modelled = estimate(config, program.commands)
    result = activity(config, program.commands, modelled.cycles)
    engines = modelled.counters.engines
    assert result.cycles == modelled.cycles
    assert result.external_bytes == modelled.counters.move_bytes
    assert result.cell_operations == engines[Engine.MATRIX].busy * config.peak_macs_per_cycle
    tables = sum(isinstance(each, Table) for each in program.commands[Engine.VECTOR])
    assert result.elements == (engines[Engine.VECTOR].busy - 64 * tables) * config.lanes
