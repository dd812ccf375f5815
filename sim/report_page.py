"""A page in HTML about a trace: self-contained, no scripts, pictures as SVG."""
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from jinja2 import Environment
from markupsafe import Markup
from matplotlib.figure import Figure

from systolith.hw.isa import Engine
from systolith.sim.lost import CAUSES, lost_cycles
from systolith.sim.parts import Part, parts
from systolith.sim.report_figures import (
    lost_figure,
    parts_figure,
    roofline_figure,
    timeline_figure,
)
from systolith.sim.trace import Trace

TEMPLATE = Path(__file__).with_name("report.html.j2")

#: Text stays text, and the same figure gives the same bytes.
_SVG = {"svg.fonttype": "none", "svg.hashsalt": "systolith", "font.family": "sans-serif",
        "font.size": 10}


def write_report(trace: Trace, stages: Mapping[Engine, Sequence[str]], macs: int, name: str,
                 path: Path) -> None:
    """Write the page.

    Parameters
    ----------
    trace : Trace
    stages : mapping of Engine to sequence of str
        The part of the model of each command.
    macs : int
        Useful multiply-accumulates.
    name : str
        Of what ran.
    path : Path
        The file.
    """
    found = parts(trace, stages)
    lost = lost_cycles(trace, macs)
    environment = Environment(autoescape=True)
    page = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        name=name, config=trace.config, trace=trace, facts=_facts(trace, macs),
        sections=_sections(trace, lost, found), parts=found,
        lost=[(CAUSES[cause], cycles) for cause, cycles in lost.items()])
    path.write_text(page, encoding="utf-8")


def _facts(trace: Trace, macs: int) -> list[tuple[str, str]]:
    utilization = macs / trace.cycles / trace.config.peak_macs_per_cycle
    return [("of the array's peak", f"{100 * utilization:.1f} %"),
            ("cycles", f"{trace.cycles:,}"), ("useful MACs", f"{macs:,}"),
            ("bytes moved", f"{trace.counters().move_bytes:,}"),
            ("commands", f"{len(trace.commands):,}"), ("runs", f"{len(trace.runs):,}")]


def _sections(trace: Trace, lost: Mapping[str, float], found: Sequence[Part],
              ) -> list[tuple[str, str, Markup]]:
    timed = [part for part in found if part.total]
    return [
        ("Where the array's cycles went", "All cycles, by what the array did or waited for.",
         _svg(lost_figure(trace.cycles, lost))),
        ("Timeline", "Share of each engine's states; white is idle.", _svg(timeline_figure(trace))),
        ("Utilization by part", "The array's cycles in each part of the model; what runs in the "
         "shadow of another part's products costs nothing here.", _svg(parts_figure(timed))),
        ("Roofline", "Work of the array, padding included, against the bytes that the part's own "
         "commands move.", _svg(roofline_figure(trace.config, found))),
    ]


def _svg(figure: Figure) -> Markup:
    with mpl.rc_context(_SVG):
        output = io.StringIO()
        figure.savefig(output, format="svg", metadata={"Date": None, "Creator": None})
    text = output.getvalue()
    # Only the element: XML prolog and document type have no place in a page.
    return Markup(text[text.index("<svg"):])
