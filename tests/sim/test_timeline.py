"""The timeline follows the trace event format, and its slices are the trace's cycles."""
import json
from collections import defaultdict
from itertools import pairwise

import pytest

from systolith.hw.config import Region
from systolith.hw.isa import ENGINES, Engine, Load, Opcode, Pass, Product, Reduce, Sink, Table
from systolith.sim.timeline import ENGINE_TRACKS, describe, timeline, write_timeline
from tests.sim.traces import BUSY, IDLE, WAIT, make_trace

#: What each kind of event must have besides "ph", "pid" and "name".
MEMBERS = {"M": {"args"}, "X": {"tid", "ts", "dur", "args"}, "C": {"ts", "args"},
           "s": {"tid", "ts", "id", "cat"}, "f": {"tid", "ts", "id", "cat", "bp"}}


def check_events(events):
    """Raise AssertionError where events break the format's rules."""
    tracks, arrows, counters = defaultdict(list), defaultdict(list), defaultdict(list)
    for event in events:
        assert {"ph", "pid", "name"} | MEMBERS[event["ph"]] <= set(event)
        if event["ph"] == "X":
            assert event["dur"] > 0
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        elif event["ph"] in "sf":
            arrows[event["id"]].append(event)
        elif event["ph"] == "C":
            assert all(isinstance(value, int) for value in event["args"].values())
            counters[event["pid"], event["name"]].append(event["ts"])
    for slices in tracks.values():
        check_nesting(slices)
    for start, end in arrows.values():
        assert (start["ph"], end["ph"]) == ("s", "f")
        assert start["ts"] < end["ts"]
        for arrow in (start, end):
            assert any(first <= arrow["ts"] < last
                       for first, last in tracks[arrow["pid"], arrow["tid"]])
    for times in counters.values():
        assert all(before < after for before, after in pairwise(times))


def check_nesting(slices):
    """On a track, of two slices one contains the other or they do not overlap."""
    open_ends = []
    for start, end in sorted(slices, key=lambda item: (item[0], -item[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1]
        open_ends.append(end)


def example():
    """Two products wait for two loads; the second starts while the first is under way."""
    return make_trace(
        60, states=[(WAIT, 0, 10, 1), (BUSY, 10, 50, 0), (IDLE, 50, 60, 0)],
        program={Engine.MOVE: (Load(signal=1, rows=2, row_bytes=16), Load(signal=1)),
                 Engine.MATRIX: (Product(wait=1, count0=4, count1=5, count2=1),
                                 Product(wait=1))},
        commands=[(Engine.MOVE, 0, 0, 9), (Engine.MOVE, 1, 4, 20), (Engine.MATRIX, 0, 10, 40),
                  (Engine.MATRIX, 1, 30, 58)])


STAGES = {Engine.MATRIX: ("layer 0 projections", "layer 0 attention")}


def slices(events, engine, states=False):
    return [(event["name"], event["ts"], event["dur"]) for event in events
            if event["ph"] == "X" and event["tid"] == 2 * engine + 1 + states]


def test_events_are_well_formed():
    check_events(list(timeline(example(), STAGES)))


def test_a_slice_ends_where_the_next_command_starts():
    events = list(timeline(example(), STAGES))
    assert slices(events, Engine.MATRIX) == [
        ("layer 0 projections", 10, 20), ("layer 0 attention", 30, 28),
        ("0 PRODUCT 1x5x4", 10, 20), ("1 PRODUCT 0x0x0", 30, 28)]
    assert slices(events, Engine.MATRIX, states=True) == [
        ("waits for semaphore 0", 0, 10), ("busy", 10, 40)]
    first = next(event for event in events if event["name"] == "0 PRODUCT 1x5x4")
    assert first["args"]["retires"] == 40
    assert first["args"]["waits for"] == [0]


def test_arrows_lead_from_signal_to_wait():
    arrows = [event for event in timeline(example(), {}) if event["ph"] in "sf"]
    assert [(event["tid"], event["ts"]) for event in arrows] == [(1, 3), (3, 10), (1, 19), (3, 30)]


def test_a_window_cuts_slices_and_keeps_time():
    events = list(timeline(example(), STAGES, 20, 45))
    check_events(events)
    assert ("0 PRODUCT 1x5x4", 20, 10) in slices(events, Engine.MATRIX)
    assert slices(events, Engine.MATRIX, states=True) == [("busy", 20, 25)]
    assert all(20 <= event["ts"] < 45 for event in events if "ts" in event)


def test_a_command_that_only_retires_in_the_window_is_left_out():
    events = list(timeline(example(), STAGES, 35, 60))
    check_events(events)
    assert slices(events, Engine.MATRIX) == [("layer 0 attention", 35, 23),
                                             ("1 PRODUCT 0x0x0", 35, 23)]


def test_file_is_json_with_the_unit(tmp_path):
    path = tmp_path / "trace.json"
    count = write_timeline(example(), STAGES, path)
    written = json.loads(path.read_text())
    assert written["traceEvents"] == list(timeline(example(), STAGES))
    assert len(written["traceEvents"]) == count
    assert written["otherData"] == {"unit": "1 us is 1 cycle", "config": "tiny", "cycles": 60}


def test_every_track_has_a_name():
    events = list(timeline(example(), STAGES))
    named = {event["tid"] for event in events if event["name"] == "thread_name"}
    used = {event["tid"] for event in events
            if event["ph"] == "X" and event["pid"] == ENGINE_TRACKS}
    assert used <= named == set(range(1, 2 * len(ENGINES) + 1))


@pytest.mark.parametrize(("command", "text"), [
    (Load(region=int(Region.WGT), rows=2, row_bytes=16), "LOAD WGT 2x16 B"),
    (Product(count0=4, count1=5, count2=6), "PRODUCT 6x5x4"),
    (Pass(reduce=int(Reduce.MAX), sink=int(Sink.VEC)), "PASS ACC MAX to VEC"),
    (Pass(), "PASS ACC"), (Table(), Opcode.TABLE.name)])
def test_commands_in_words(command, text):
    assert describe(command) == text


def test_overlap_is_found():
    with pytest.raises(AssertionError):
        check_nesting([(0, 10), (5, 15)])
