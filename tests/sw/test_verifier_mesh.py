"""The verifier over all cores: races through the mesh, deadlocks across cores, each named."""
import dataclasses

import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Notify, Product, Send
from systolith.sw.compiler.verifier import VerifyError, verify_mesh

CONFIG = get_config("tiny@2x1")
SEND = Send(region=Region.ACT, remote_region=Region.ACT, rows=1, row_bytes=8, base=0,
            remote_base=32, x_first=1, x_last=1, remote_signal=1 << 6)
PRODUCT = Product(count0=1, count1=2, count2=1, act_base=8, act1_stride=1, acc1_stride=1,
                  wait=1 << 6)
TO_RIGHT, TO_LEFT = ({"x_first": x, "x_last": x} for x in (1, 0))


def machine(left=(SEND,), right=(PRODUCT,), move=()):
    return [{Engine.MOVE: list(left)}, {Engine.MATRIX: list(right), Engine.MOVE: list(move)}]


def change(command, **fields):
    return dataclasses.replace(command, **fields)


def test_a_send_and_its_reader_are_proven():
    proof = verify_mesh(CONFIG, machine())
    assert (proof.commands, proof.deepest_semaphore) == (2, 1)


AGAIN = change(SEND, base=32)
CREDIT = Notify(wait=1, remote_signal=1 << 7, **TO_LEFT)
FAULTS = {
    "no token": (
        machine([change(SEND, remote_signal=0)], [change(PRODUCT, wait=0)]), 1, Engine.MATRIX,
        "reads ACT word 8 while core 0 (x 0, y 0) MOVE command 0 (SEND) may still write it"),
    "no credit": (
        machine([SEND, AGAIN], [PRODUCT, PRODUCT]), 1, Engine.MATRIX,
        "reads ACT word 8 while core 0 (x 0, y 0) MOVE command 1 (SEND) may still write it"),
    "an early signal": (
        machine([Notify(remote_signal=1 << 6, **TO_RIGHT), change(SEND, remote_signal=0)]),
        1, Engine.MATRIX, "race: reads ACT word 8"),
    "deadlock across cores": (
        machine([Notify(wait=1 << 7, remote_signal=1 << 6, **TO_RIGHT)], (),
                [Notify(wait=1 << 6, remote_signal=1 << 7, **TO_LEFT)]), 0, Engine.MOVE,
        "deadlock: core 0 (x 0, y 0) MOVE command 0 waits for core 1 (x 1, y 0) MOVE command 0"),
    "nobody waits": (machine(right=[change(PRODUCT, wait=0)]), 0, Engine.MOVE,
                     "signals semaphore 6 which nobody waits for"),
    "two signal": (
        machine([SEND], [change(PRODUCT), change(PRODUCT)],
                [Notify(signal=1 << 6, **TO_LEFT)]), 1, Engine.MATRIX,
        "race: reads ACT word 8 while core 0 (x 0, y 0) MOVE command 0 (SEND) may still write it; "
        "semaphore 6 of core 1 (x 1, y 0) counts signals of 2 others, and of 1 that were "
        "taken 1 can be from any of them"),
    "past the end": (machine([change(SEND, remote_base=1 << 20)]), 0, Engine.MOVE,
                     "past the end of ACT"),
    "no such core": (machine([change(SEND, x_last=2)]), 0, Engine.MOVE, "the mesh has 2 nodes"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_named(name):
    queues, core, engine, message = FAULTS[name]
    with pytest.raises(VerifyError) as error:
        verify_mesh(CONFIG, queues)
    assert message in str(error.value)
    assert (error.value.core, error.value.engine) == (core, engine)
    assert str(error.value).startswith(f"core {core} ")


def test_a_credit_makes_a_buffer_free_again():
    queues = machine([SEND, change(AGAIN, wait=1 << 7)], [change(PRODUCT, signal=1), PRODUCT],
                     [CREDIT])
    assert verify_mesh(CONFIG, queues).deepest_semaphore == 1


def test_each_core_needs_its_queues():
    with pytest.raises(ValueError, match="1 sets of queues for 2 cores"):
        verify_mesh(CONFIG, [{}])
