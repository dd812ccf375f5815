"""What is true of every queue: proofs by induction of what is around it must know."""
from tests.formal.prove import holds, implies


def queue_lemmas(m, inside, *path, depth):
    """At most ``depth`` elements, counted right, and a valid output means that there is one."""
    level, valid, produced, consumed, empty, full = (
        inside.signal(*path, name)
        for name in ("level", "o__valid", "produced", "consumed", "empty", "full"))
    m.d.comb += [holds(level <= depth), holds(implies(valid, level != 0)),
                 holds(empty == (level == 0)), holds(full == (level == depth)),
                 holds(level == (produced - consumed)[:len(level)])]
