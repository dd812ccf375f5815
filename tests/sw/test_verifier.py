"""The verifier: what it proves, and that each fault is found and named."""
import dataclasses

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
    Sink,
    Source,
    Store,
    Table,
)
from systolith.sw.compiler.verifier import VerifyError, verify

CONFIG = get_config("tiny")
LOAD = Load(region=Region.ACT, rows=1, row_bytes=64, signal=1)
PRODUCT = Product(count0=2, count1=4, count2=1, act0_stride=1, act1_stride=2, wgt0_stride=1,
                  acc1_stride=1, wait=1, signal=2)
MAX = Pass(rows=4, beats=1, valid=4, source_row_stride=1, reduce=Reduce.MAX, wait=2)
APPLY = Pass(rows=4, beats=1, valid=4, source_row_stride=1, addend=Addend.ROW, sink=Sink.VEC,
             sink_row_stride=1, fence=1)


def queues(move=(LOAD,), matrix=(PRODUCT,), vector=(MAX, APPLY)):
    return {Engine.MOVE: list(move), Engine.MATRIX: list(matrix), Engine.VECTOR: list(vector)}


def change(command, **fields):
    return dataclasses.replace(command, **fields)


def test_a_good_stream_is_proven():
    proof = verify(CONFIG, queues())
    assert proof.commands == 4
    assert proof.deepest_semaphore == 1
    # LOAD: 16 beats + 16 words; PRODUCT: 8 act, 2 x 4 wgt, 4 acc; MAX: 4 acc, 4 row;
    # APPLY: 4 acc, 4 row, 4 vec.
    assert proof.words == 32 + 20 + 8 + 12


FAULTS = {
    "race between passes": (
        queues(vector=(MAX, change(APPLY, fence=0))), Engine.VECTOR, 1,
        "race: reads ROW word 0 while VECTOR command 0 (PASS) may still write it"),
    "race with the mover": (
        queues(move=[change(LOAD, signal=0)], matrix=[change(PRODUCT, wait=0)]), Engine.MATRIX, 0,
        "race: reads ACT word 0 while MOVE command 0 (LOAD) may still write it"),
    "nobody signals": (
        queues(move=[change(LOAD, signal=0)]), Engine.MATRIX, 0,
        "waits for semaphore 0 which nobody signals (0 signals, 1 waits)"),
    "nobody waits": (
        queues(matrix=[change(PRODUCT, signal=6)]), Engine.MATRIX, 0,
        "signals semaphore 2 which nobody waits for (1 signals, 0 waits)"),
    "a signaller too many": (
        queues(vector=(change(MAX, signal=1), APPLY)), Engine.MOVE, 0,
        "signals semaphore 0 which nobody waits for (2 signals, 1 waits)"),
    "two that wait": (
        queues(move=[change(LOAD, signal=3)], vector=(change(MAX, wait=1), APPLY)), Engine.VECTOR,
        0, "semaphore 0 is waited for by MATRIX too; each needs one engine that waits"),
    "deadlock": (
        queues(move=[change(LOAD, wait=4)], matrix=[change(PRODUCT, signal=6)]), Engine.MOVE, 0,
        "deadlock: MOVE command 0 waits for MATRIX command 0; "
        "MATRIX command 0 waits for MOVE command 0; VECTOR command 0 waits for MATRIX command 0"),
    "zero loop": (
        queues(matrix=[change(PRODUCT, count1=0)]), Engine.MATRIX, 0,
        "count1 is 0, but a loop runs at least once"),
    "past the end": (
        queues(matrix=[change(PRODUCT, act_base=16384)]), Engine.MATRIX, 0,
        "word 16391 is past the end of ACT, 16384 words"),
    "wrong queue": (
        queues(move=[LOAD, PRODUCT]), Engine.MOVE, 1, "PRODUCT belongs to MATRIX"),
    "field too large": (
        queues(matrix=[change(PRODUCT, count2=1 << 16)]), Engine.MATRIX, 0,
        "Product.count2 is 65536, but 16 bits hold 0 to 65535"),
    "illegal source": (
        queues(vector=(MAX, change(APPLY, source=Source.VEC, combine=Combine.ADD))),
        Engine.VECTOR, 1, "source VEC and a stream both read vector memory"),
    "pass reads what it wrote": (
        queues(vector=(MAX, change(APPLY, source=Source.VEC, sink_base=1))), Engine.VECTOR, 1,
        "reads VEC word 1 after writing it in the same pass"),
    "row constants written before read": (
        queues(vector=(MAX, change(APPLY, reduce=Reduce.SUM),
                       change(APPLY, reduce=Reduce.SUM, row_read=1, row_write=2))),
        Engine.VECTOR, 2, "reads ROW word 2 after writing it in the same pass"),
    "table under a reader": (
        queues(vector=(change(MAX, function=Function.EXP2, table=0), Table(table=0))),
        Engine.VECTOR, 1,
        "race: writes table word 0 while VECTOR command 0 (PASS) may still read it"),
    "move reads back too early": (
        queues(move=(LOAD, Store(region=Region.ACT, rows=1, row_bytes=64, ext_base=64))),
        Engine.MOVE, 1, "race: reads ACT word 0 while MOVE command 0 (LOAD) may still write it"),
}

@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named(name):
    stream, engine, index, reason = FAULTS[name]
    with pytest.raises(VerifyError) as error:
        verify(CONFIG, stream)
    assert (error.value.engine, error.value.index) == (engine, index)
    assert str(error.value) == f"{engine.name} command {index}: {reason}"


def test_a_load_under_a_reading_product_is_a_race():
    """Whichever of the two comes later in the order found is the one that is named."""
    with pytest.raises(VerifyError, match=r"race: (writes|reads) ACT word 0"):
        verify(CONFIG, queues(move=(LOAD, change(LOAD, signal=0))))


def test_semaphores_must_not_overflow():
    narrow = CONFIG.replace(name="narrow", semaphore_width=2)
    loads = [change(LOAD, base=64 * i) for i in range(4)]
    products = [change(PRODUCT, signal=0, act_base=16 * i) for i in range(4)]
    assert verify(CONFIG, queues(loads, products, ())).deepest_semaphore == 4
    with pytest.raises(VerifyError, match="semaphore 0 can reach 4, but holds at most 3"):
        verify(narrow, queues(loads, products, ()))


def test_in_place_passes_are_allowed():
    in_place = Pass(rows=4, beats=2, valid=8, source=Source.VEC, source_row_stride=2,
                    source_tile_stride=1, sink=Sink.VEC, sink_row_stride=2, sink_tile_stride=1)
    assert verify(CONFIG, {Engine.VECTOR: [in_place]}).commands == 1


def test_a_semaphore_past_the_last_is_named():
    small = CONFIG.replace(name="small", semaphores=6)
    with pytest.raises(VerifyError, match="signal mask 0x40 names a semaphore past the last, 5"):
        verify(small, queues(matrix=[change(PRODUCT, signal=0x40)]))
