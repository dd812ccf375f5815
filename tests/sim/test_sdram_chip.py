"""The model of the chip: what it stores, when it answers, and each rule that it knows."""
import pytest

from systolith.hw.sdram.interface import ALL_BANKS, Command, SdramPins
from systolith.hw.sdram.timing import STARTUP_REFRESHES, SdramChip, SdramTiming
from systolith.sim.sdram_chip import SimulatedSdram
from tests.streams import pack

CHIP = SdramChip(timing=SdramTiming(startup=1000))
CLOCK_HZ = 100e6
CAS, BURST = 2, 2
MODE = CAS << 4 | 1


class Host:
    """Sends commands, one an edge, with pauses that are long enough unless told otherwise."""

    def __init__(self, chip=CHIP):
        self.chip = SimulatedSdram(chip, CLOCK_HZ)

    def edge(self, command=Command.NONE, **pins):
        return self.chip.edge(pack(SdramPins(), {"command": command, **pins}))

    def wait(self, edges=12):
        return [self.edge() for _ in range(edges)]

    def do(self, command, **pins):
        self.edge(command, **pins)
        self.wait()

    def start(self, *, refreshes=STARTUP_REFRESHES, mode=MODE):
        self.wait(100)
        self.do(Command.PRECHARGE, address=ALL_BANKS)
        for _ in range(refreshes):
            self.do(Command.REFRESH)
        self.do(Command.MODE, address=mode)
        return self

    def store(self, words, *, bank=0, column=0, masks=(0, 0)):
        for number, (word, mask) in enumerate(zip(words, masks, strict=True)):
            self.edge(Command.NONE if number else Command.WRITE, bank=bank, address=column,
                      data=word, mask=mask, drive=1)
        self.wait()

    def fetch(self, *, bank=0, column=0):
        self.edge(Command.READ, bank=bank, address=column)
        return self.wait()


@pytest.fixture
def host():
    started = Host().start()
    started.do(Command.ACTIVATE, bank=1, address=77)
    assert started.chip.violation is None
    return started


def test_words_come_back_after_the_cas_latency(host):
    host.store([0x1234, 0xABCD], bank=1, column=6)
    assert host.fetch(bank=1, column=6)[:4] == [0x1234, 0xABCD, None, None]
    assert host.chip.word((77 << 2 | 1) << 9 | 7) == 0xABCD
    assert host.chip.violation is None


def test_a_mask_keeps_a_word(host):
    host.store([0x1234, 0xABCD], bank=1)
    host.store([0xFFFF, 0xFFFF], bank=1, masks=(1, 0))
    assert host.fetch(bank=1)[:2] == [0x1234, 0xFFFF]
    host.edge(Command.READ, bank=1, mask=1)
    host.wait()
    assert "hides what is read" in host.chip.violation


BREACHES = {
    "closed row": lambda host: host.fetch(bank=2),
    "open row": lambda host: host.do(Command.ACTIVATE, bank=1, address=3),
    "with a row open": lambda host: host.do(Command.REFRESH),
    "begins in the middle": lambda host: host.fetch(bank=1, column=3),
    "column does not exist": lambda host: host.fetch(bank=1, column=1 << 9),
    "data of a write are missing": lambda host: host.do(Command.WRITE, bank=1),
    "data came that nobody wants": lambda host: host.edge(drive=1),
    "mode register was set with": lambda host: host.do(Command.MODE, address=MODE),
    "refresh interval": lambda host: host.wait(2000),
}


@pytest.mark.parametrize("rule", BREACHES)
def test_a_breach_is_named(host, rule):
    BREACHES[rule](host)
    assert rule in host.chip.violation


def test_a_row_must_not_be_open_for_ever():
    host = Host(SdramChip(timing=SdramTiming(startup=1000, refresh=1e6))).start()
    host.do(Command.ACTIVATE)
    host.wait(9900)
    assert host.chip.violation is None
    host.wait(200)
    assert "open too long" in host.chip.violation


def test_bursts_are_not_cut_off(host):
    host.edge(Command.READ, bank=1)
    host.edge(Command.READ, bank=1, address=4)
    assert "cut off by the next" in host.chip.violation


def test_a_precharge_does_not_cut_a_burst_off(host):
    host.edge(Command.READ, bank=1)
    host.edge(Command.PRECHARGE, bank=1)
    assert "precharge cut" in host.chip.violation


@pytest.mark.parametrize(("pause", "good"), [(CAS + BURST - 1, False), (CAS + BURST, True)])
def test_data_of_the_two_sides_keep_apart(host, pause, good):
    host.edge(Command.READ, bank=1)
    host.wait(pause)
    host.store([1, 2], bank=1)
    assert (host.chip.violation is None) == good


@pytest.mark.parametrize(("options", "rule"), [
    ({"refreshes": STARTUP_REFRESHES - 1}, "too few refreshes"),
    ({"mode": MODE | 1 << 9}, "mode register was set to what"), ({"mode": 1}, "CAS latency")])
def test_the_start_is_checked(options, rule):
    assert rule in Host().start(**options).chip.violation


def test_nothing_is_done_before_the_start():
    host = Host()
    host.edge(Command.PRECHARGE, address=ALL_BANKS)
    assert "start-up time" in host.chip.violation
    host = Host()
    host.wait(100)
    host.do(Command.REFRESH)
    assert "not a precharge" in host.chip.violation
    host = Host()
    host.wait(100)
    host.do(Command.ACTIVATE)
    assert "before the mode register" in host.chip.violation


def test_memory_is_not_zero_at_power_up(host):
    assert len({host.chip.word(number) for number in range(100)}) > 90
