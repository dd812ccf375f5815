"""Placements beside each other, as a table and as JSON."""
from collections.abc import Sequence

from systolith.sim.text import number, print_facts, print_table
from systolith.sw.encoder.automatic import Candidate, fastest


def print_candidates(found: Sequence[Candidate]) -> None:
    """Cycles of each placement by the cycle model; nothing where none was tried.

    Why one was refused stands below, as long as it is.
    """
    if not found:
        return
    chosen = fastest(found).placement
    print_table(("placement", "texts", "cycles", "a text"), (_row(each, chosen) for each in found))
    refused = [(f"Not {each.placement}", each.refused) for each in found if each.estimate is None]
    if refused:
        print_facts(refused)


def _row(candidate: Candidate, chosen: str) -> tuple[str, str, str, str]:
    texts = str(candidate.texts)
    if candidate.estimate is None:
        return candidate.placement, texts, "-", "-"
    mark = ", fastest for many texts" if candidate.placement == chosen else ""
    return (candidate.placement, texts, number(candidate.estimate.cycles),
            number(round(candidate.cycles_per_text)) + mark)


def candidates_as_json(found: Sequence[Candidate]) -> list[dict[str, object]]:
    """The same under stable keys; without cycles, ``refused`` says why."""
    return [{"placement": each.placement, "texts": each.texts,
             "cycles": each.estimate and each.estimate.cycles, "refused": each.refused}
            for each in found]
