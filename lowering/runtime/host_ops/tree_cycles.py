"""Do the trees of a TreeEnsembleRegressor or -Classifier end?"""

from __future__ import annotations

from onnxloom.lowering.runtime.host_ops.registry import Attributes

_Node = tuple[int, int]
"""Numbers of a tree and of a node in it."""


def refuse_cycles(attributes: Attributes) -> None:
    """Raises ValueError for trees with a cycle, also where no row would walk it."""
    follows = _follows(attributes)
    state: dict[_Node, bool] = {}  # whether all that follows a node was seen to end
    for start in follows:
        path = [start]
        while path:
            last = path[-1]
            state.setdefault(last, False)
            ahead = [after for after in follows.get(last, ()) if not state.get(after, False)]
            if any(after in state for after in ahead):
                raise ValueError("the nodes of a tree form a cycle")
            if ahead:
                path.append(ahead[0])
            else:
                state[path.pop()] = True


def _follows(attributes: Attributes) -> dict[_Node, tuple[_Node, _Node]]:
    columns = ("treeids", "nodeids", "modes", "truenodeids", "falsenodeids")
    rows = zip(*(attributes.get(f"nodes_{column}", ()) for column in columns), strict=False)
    return {(t, n): ((t, yes), (t, no)) for t, n, mode, yes, no in rows if mode != "LEAF"}
