"""The host that fills the queues."""
from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine
from systolith.sw.estimate.queues import FIRST_SAMPLE, PUSH, ROUND, Queues

CONFIG = get_config("tiny").replace(name="queues", queue_depth=32)
KEYS = [(0, engine) for engine in ENGINES]


def test_short_streams_are_there_before_the_start():
    queues = Queues(CONFIG, dict(zip(KEYS, (7, 9, 0), strict=True)))
    assert queues.complete
    assert queues.available[0, Engine.MOVE] == list(range(-15, -8))
    assert queues.available[0, Engine.MATRIX][-1] == 0


def test_the_host_pushes_what_has_room():
    queues = Queues(CONFIG, dict(zip(KEYS, (70, 0, 40), strict=True)))
    assert [len(queues.available[key]) for key in KEYS] == [32, 0, 32]
    taken = dict(zip(KEYS, (7, 0, 11), strict=True))
    after = queues.sample(FIRST_SAMPLE, taken)
    assert queues.available[0, Engine.MOVE][32:] == [FIRST_SAMPLE + PUSH + i for i in range(7)]
    second = FIRST_SAMPLE + PUSH + 7
    assert queues.available[0, Engine.VECTOR][32:] == list(range(second, second + 8))
    assert after == FIRST_SAMPLE + 7 + 8 + ROUND
    assert not queues.complete
    assert queues.sample(after, taken) == after + ROUND, "without room, only the reads take time"
