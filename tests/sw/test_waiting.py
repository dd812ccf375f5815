"""What a run that does not end says about each engine."""
from systolith.hw.isa import ENGINES, Engine, Load, Pass, Product
from systolith.sw.runtime.device import Counters, EngineCounters
from systolith.sw.runtime.waiting import describe

PRODUCT = Product(count0=1, count1=1, count2=1)


def status(*, active=(), waiting=()):
    return sum(1 << 11 + e for e in active) | sum(1 << 8 + e for e in waiting)


def said(queues, *, retired=(0, 0, 0), before=(0, 0, 0), semaphores=(0,) * 6, **flags):
    counters = Counters(engines={e: EngineCounters(commands=n)
                                 for e, n in zip(ENGINES, retired, strict=True)})
    words = {e: [w for command in queues.get(e, []) for w in command.encode()] for e in ENGINES}
    parts = describe(status(**flags), semaphores, words, counters,
                     dict(zip(ENGINES, before, strict=True))).split("; ")
    return dict(zip(ENGINES, parts, strict=True))


def test_nothing_left():
    assert said({})[Engine.MOVE] == "MOVE has finished"
    done = said({Engine.MATRIX: [PRODUCT]}, retired=(0, 1, 0))
    assert done[Engine.MATRIX] == "MATRIX has finished"


def test_waits_for_what_is_missing():
    waits = Load(rows=1, row_bytes=4, wait=0b1010110)
    text = said({Engine.MOVE: [waits, waits]}, retired=(1, 0, 0), before=(7, 0, 0),
                semaphores=(0, 0, 3, 0, 0, 0), waiting=[Engine.MOVE])[Engine.MOVE]
    assert text == ("MOVE command 8 waits for semaphore 1, 4, 6: "
                    "LOAD wait=86 rows=1 row_bytes=4")


def test_runs_or_has_not_started():
    queues = {Engine.VECTOR: [Pass(rows=2, beats=1)], Engine.MATRIX: [PRODUCT]}
    text = said(queues, active=[Engine.VECTOR])
    assert text[Engine.VECTOR].startswith("VECTOR command 0 has not retired: PASS ")
    assert text[Engine.MATRIX].startswith("MATRIX command 0 has not started: PRODUCT ")


def test_an_unknown_operation_code_is_named():
    counters = Counters()
    words = {Engine.MOVE: [15] + [0] * 6, Engine.MATRIX: [1, 2], Engine.VECTOR: []}
    text = describe(0, [0] * 6, words, counters, dict.fromkeys(ENGINES, 0))
    assert text == ("MOVE command 0: operation code 15 is unknown to the MOVE engine; "
                    "MATRIX command 0 is incomplete: 2 of 9 words; VECTOR has finished")
