"""Which side of a cheapest cut is a node on?

A cut puts every node on the source's or the sink's side and pays for each edge that leads from the former to
the latter. The cheapest one is found as the largest flow (Dinic 1970): levels by breadth-first search, then
augmenting paths along them. Of several cheapest cuts the one with the fewest nodes on the sink's side is
taken.
"""

from __future__ import annotations

from typing import Final

SOURCE: Final = 0
SINK: Final = 1

NEVER: Final = 1 << 60
"""A price that is never paid."""


class MinCut:
    """A network that grows by nodes and edges; prices are whole numbers."""

    def __init__(self) -> None:
        self._heads: list[int] = []
        """Edge -> the node it leads to; edge `e ^ 1` leads back."""

        self._left: list[int] = []
        """Edge -> what can still flow through it."""

        self._edges: list[list[int]] = [[], []]
        """Node -> the edges that leave it."""

    def node(self) -> int:
        self._edges.append([])
        return len(self._edges) - 1

    def edge(self, tail: int, head: int, price: int, price_back: int = 0) -> None:
        """`price` is paid when `tail` is on the source's side and `head` on the sink's."""
        for node, other, left in ((tail, head, price), (head, tail, price_back)):
            self._edges[node].append(len(self._heads))
            self._heads.append(other)
            self._left.append(left)

    def sink_side(self) -> set[int]:
        """The nodes on the sink's side of a cheapest cut, the sink included."""
        while (levels := self._levels())[SINK] >= 0:
            self._block_flow(levels)
        # All that can still reach the sink must be on its side; everything else need not.
        side = {SINK}
        pending = [SINK]
        while pending:
            for edge in self._edges[pending.pop()]:
                tail = self._heads[edge]
                if tail not in side and self._left[edge ^ 1] > 0:
                    side.add(tail)
                    pending.append(tail)
        return side

    def _levels(self) -> list[int]:
        """Node -> edges of a shortest path from the source that has room; -1 where there is none."""
        levels = [-1] * len(self._edges)
        levels[SOURCE] = 0
        queue = [SOURCE]
        for node in queue:
            for edge in self._edges[node]:
                head = self._heads[edge]
                if levels[head] < 0 and self._left[edge] > 0:
                    levels[head] = levels[node] + 1
                    queue.append(head)
        return levels

    def _block_flow(self, levels: list[int]) -> None:
        """Fills paths that climb one level per edge until none is left."""
        places = [0] * len(self._edges)
        path: list[int] = []
        node = SOURCE
        while True:
            if node == SINK:
                room = min(self._left[edge] for edge in path)
                for edge in path:
                    self._left[edge] -= room
                    self._left[edge ^ 1] += room
                full = next(index for index, edge in enumerate(path) if self._left[edge] == 0)
                node = self._heads[path[full] ^ 1]
                del path[full:]
            elif (edge := self._next(node, places, levels)) is not None:
                path.append(edge)
                node = self._heads[edge]
            elif path:
                node = self._heads[path.pop() ^ 1]
                places[node] += 1
            else:
                return

    def _next(self, node: int, places: list[int], levels: list[int]) -> int | None:
        """The first edge from `node`, from its place on, that has room and climbs."""
        edges = self._edges[node]
        while places[node] < len(edges):
            edge = edges[places[node]]
            if self._left[edge] > 0 and levels[self._heads[edge]] == levels[node] + 1:
                return edge
            places[node] += 1
        return None
