"""A cheapest cut is found, and of several the one with the fewest nodes on the sink's side."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from onnxloom.transforms.layout.min_cut import SINK, SOURCE, MinCut

Edge = tuple[int, int, int, int]


def network(edges: list[Edge], nodes: int) -> MinCut:
    cut = MinCut()
    assert [cut.node() for _ in range(nodes)] == list(range(2, nodes + 2))
    for edge in edges:
        cut.edge(*edge)
    return cut


def price(edges: list[Edge], sink_side: set[int]) -> int:
    """What a cut pays."""
    total = 0
    for tail, head, there, back in edges:
        total += there * (tail not in sink_side and head in sink_side)
        total += back * (head not in sink_side and tail in sink_side)
    return total


def cheapest(edges: list[Edge], nodes: int) -> set[int]:
    """By looking at every cut."""
    sides = [
        {SINK, *chosen}
        for count in range(nodes + 1)
        for chosen in combinations(range(2, nodes + 2), count)
    ]  # fmt: skip
    return min(sides, key=lambda side: (price(edges, side), len(side)))


@pytest.mark.parametrize("seed", range(60))
def test_random_networks(seed: int):
    draw = random.Random(seed)
    nodes = draw.randint(1, 7)
    edges = [
        (tail, head, draw.randint(0, 4), draw.choice((0, draw.randint(0, 4))))
        for tail, head in combinations(range(nodes + 2), 2)
        if (tail, head) != (SOURCE, SINK) and draw.random() < 0.6
    ]
    assert network(edges, nodes).sink_side() == cheapest(edges, nodes)


def test_a_node_that_costs_the_same_on_both_sides_is_on_the_sources():
    assert network([(SOURCE, 2, 3, 0), (2, SINK, 3, 0)], 1).sink_side() == {SINK}


def test_a_long_chain():
    count = 5000
    edges = [(node, node + 1, 2, 2) for node in range(2, count + 1)]
    edges += [(SOURCE, 2, 5, 0), (count + 1, SINK, 4, 0)]
    assert network(edges, count).sink_side() == {SINK, count + 1}
