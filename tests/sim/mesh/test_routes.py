"""Routes against a walk, hop by hop."""
import numpy as np

from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.route import STEPS, Port
from systolith.sim.mesh.routes import ends, hops, link_loads, node_target, receivers, target

CONFIG = MeshConfig(width=4, height=3)


def walk(source, destination):
    """The pairs of node and port on the way: first x, then y."""
    x, y, taken = source % CONFIG.width, source // CONFIG.width, []
    to_x, to_y = destination % CONFIG.width, destination // CONFIG.width
    while (x, y) != (to_x, to_y):
        step = (np.sign(to_x - x), 0) if x != to_x else (0, np.sign(to_y - y))
        port = next(port for port, each in STEPS.items() if each == step)
        taken.append((y * CONFIG.width + x, port))
        x, y = x + step[0], y + step[1]
    return [*taken, (destination, Port.LOCAL)] if taken else []


def test_a_packet_for_one_node_takes_the_walk():
    for source in range(CONFIG.nodes):
        for destination in range(CONFIG.nodes):
            taken, expected = walk(source, destination), np.zeros((CONFIG.nodes, len(Port)))
            for node, port in taken:
                expected[node, port] += 1
            where = node_target(CONFIG, np.array([destination]))
            assert (link_loads(CONFIG, [source], where) == expected).all()
            assert hops(CONFIG)[source, destination] == max(len(taken) - 1, 0)


def test_a_packet_for_a_rectangle_crosses_each_link_of_its_walks_once():
    expected = np.zeros((CONFIG.nodes, len(Port)))
    for node, port in {pair for destination in (6, 7, 10, 11) for pair in walk(1, destination)}:
        expected[node, port] = 1
    assert (link_loads(CONFIG, [1], [target(2, 3, 1, 2)]) == expected).all()


def test_a_packet_for_all_does_not_come_back():
    loads = link_loads(CONFIG, [5], [target(0, 3, 0, 2)])
    assert np.flatnonzero(loads[:, Port.LOCAL] == 0).tolist() == [5]


def test_loads_add_up_with_their_weights():
    one, other = target(0, 0, 0, 0), target(3, 3, 2, 2)
    single = [link_loads(CONFIG, [5], [each]) for each in (one, other)]
    loads = link_loads(CONFIG, [5, 5, 5], [one, other, one], [1, 2, 0.5])
    assert (loads == 1.5 * single[0] + 2 * single[1]).all()


def test_targets_are_taken_apart():
    where = np.array([target(1, 2, 3, 5), target(0, 0, 0, 0)])
    assert ends(where).tolist() == [[1, 0], [2, 0], [3, 0], [5, 0]]
    assert receivers(where).tolist() == [6, 1]
