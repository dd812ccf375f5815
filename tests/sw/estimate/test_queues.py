"""The host that fills the queues."""
from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine
from systolith.sw.estimate.queues import FIRST_SAMPLE, PUSH, ROUND, Queues

CONFIG = get_config("tiny").replace(name="queues", queue_depth=32)


def test_short_streams_are_there_before_the_start():
    queues = Queues(CONFIG, {Engine.MOVE: 7, Engine.MATRIX: 9, Engine.VECTOR: 0})
    assert queues.complete
    assert queues.available[Engine.MOVE] == list(range(-15, -8))
    assert queues.available[Engine.MATRIX][-1] == 0


def test_the_host_pushes_what_has_room():
    queues = Queues(CONFIG, {Engine.MOVE: 70, Engine.MATRIX: 0, Engine.VECTOR: 40})
    assert [len(queues.available[engine]) for engine in ENGINES] == [32, 0, 32]
    taken = {Engine.MOVE: 7, Engine.MATRIX: 0, Engine.VECTOR: 11}
    after = queues.sample(FIRST_SAMPLE, taken)
    assert queues.available[Engine.MOVE][32:] == [FIRST_SAMPLE + PUSH + i for i in range(7)]
    assert queues.available[Engine.VECTOR][32:] == [FIRST_SAMPLE + PUSH + 7 + i for i in range(8)]
    assert after == FIRST_SAMPLE + 7 + 8 + ROUND
    assert not queues.complete
    assert queues.sample(after, taken) == after + ROUND, "without room, only the reads take time"
