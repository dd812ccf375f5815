"""The report page holds what the trace says, in one file without scripts."""
import html
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from systolith.hw.isa import Engine, Load, Product
from systolith.sim.report_figures import _share
from systolith.sim.report_page import write_report
from systolith.sim.trace import State
from tests.sim.traces import BUSY, IDLE, TINY, WAIT, make_trace

VOID = {"meta", "link", "br", "img", "hr"}


def example():
    return make_trace(
        100, states=[(WAIT, 0, 10, 1), (BUSY, 10, 60, 0), (IDLE, 60, 100, 0)],
        program={Engine.MATRIX: (Product(wait=1), Product()),
                 Engine.MOVE: (Load(signal=1, rows=2, row_bytes=8),)},
        commands=[(Engine.MOVE, 0, 0, 9), (Engine.MATRIX, 0, 10, 40), (Engine.MATRIX, 1, 30, 95)])


class Balance(HTMLParser):
    """Fails where elements are not closed in order; collects names and addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "report.html"
    stages = {Engine.MATRIX: ("layer 0 attention", "layer 0 <b>"), Engine.MOVE: ("start",)}
    write_report(example(), stages, 40 * TINY.peak_macs_per_cycle, "a & b", path)
    return path.read_text()


def test_is_well_formed_and_self_contained(page):
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    assert parser.tags.count("svg") == 4
    assert "script" not in parser.tags
    assert all(link.startswith("#") for link in parser.links)


def test_names_are_escaped(page):
    assert "a &amp; b on tiny" in page
    assert "<td>layer 0 &lt;b&gt;</td>" in page


def test_figures_of_the_trace(page):
    plain = re.sub(r"<svg.*?</svg>|<[^>]+>", " ", page, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", html.unescape(plain))
    assert "40.0 % of the array's peak 100 cycles 640 useful MACs" in text
    assert "before the first product of a run 10 10.0 %" in text
    assert "after the last product of a run 40 40.0 %" in text
    assert "layer 0 attention 30 20 66.7 % 0" in text
    assert "start 0 0 16" in text


def test_same_trace_same_page(page, tmp_path):
    stages = {Engine.MATRIX: ("layer 0 attention", "layer 0 <b>"), Engine.MOVE: ("start",)}
    write_report(example(), stages, 40 * TINY.peak_macs_per_cycle, "a & b", tmp_path / "again")
    assert (tmp_path / "again").read_text() == page


def test_shares_of_a_bin():
    edges = np.array([0.0, 5, 20, 60, 100])
    np.testing.assert_allclose(_share(example(), Engine.MATRIX, State.BUSY, edges),
                               [0, 10 / 15, 1, 0])
    np.testing.assert_allclose(_share(example(), Engine.MATRIX, State.WAIT, edges),
                               [1, 5 / 15, 0, 0])
