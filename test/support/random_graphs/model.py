"""A random model: inputs of several types and shapes, a body that grows, outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from host_graph import Host
from hypothesis import strategies as st
from onnx import ModelProto, helper

from random_graphs.builder import BOOL, FLOATS, INTEGERS, MAX_SIZE, GraphBuilder, Shared
from random_graphs.growth import grow
from random_graphs.source import Drawn, Seeded, Source
from random_graphs.values import array_of

Array = np.ndarray[Any, Any]

OPSETS = (23, 24, 25, 28, 21)
"""Every op of the grammar has the same meaning in all of these."""

DIMS = ("n", "m", 3, 1, 4, 2, 6, 0)
SIZES = (3, 2, 5, 1, 4)


@dataclass(frozen=True)
class RandomGraph:
    """A model, inputs for it, and what its outputs are for them."""

    model: ModelProto
    feeds: Mapping[str, Array]
    wanted: Mapping[str, Array]


def seeded_graph(seed: int, steps: int = 10) -> RandomGraph:
    """The graph of a seed."""
    return random_graph(Seeded(seed), steps)


@st.composite
def graphs(draw: st.DrawFn, steps: int = 8) -> RandomGraph:
    """Random graphs as a hypothesis strategy."""
    return random_graph(Drawn(draw), steps)


def random_graph(source: Source, steps: int) -> RandomGraph:
    """A valid model; every value of it can be evaluated on the host for the given inputs."""
    shared = Shared(source, Host(), source.choice(OPSETS), special=source.chance(30))
    shared.dims.update({name: source.choice(SIZES) for name in ("n", "m")})
    graph = GraphBuilder(shared)
    for _ in range(source.integer(2, 4)):
        _add_input(graph)
    feeds = dict(graph.arrays)
    grow(graph, source.integer(2, max(2, steps)))
    if not graph.nodes:
        graph.one("Identity", graph.data[0])
    outputs = _outputs(graph)
    infos = [graph.info(name, _declared_dims(source, graph.shape(name))) for name in outputs]
    imports = [helper.make_opsetid("", shared.opset)]
    model = helper.make_model(graph.graph("random", infos), opset_imports=imports, ir_version=10)
    return RandomGraph(model, feeds, {name: graph.array(name) for name in outputs})


def _add_input(graph: GraphBuilder) -> None:
    source, shared = graph.source, graph.shared
    kind = source.choice((FLOATS[:1], FLOATS[:1], FLOATS, INTEGERS, (BOOL,)))
    dtype = source.choice(kind)
    rank = 0 if dtype == BOOL and source.chance(60) else source.choice((2, 3, 4, 1, 2, 3, 0))
    dims = [source.choice(DIMS if source.chance(90) else DIMS[:4]) for _ in range(rank)]
    if source.chance(85):
        dims = [3 if dim == 0 else dim for dim in dims]
    while math.prod(shape := [shared.dims[d] if isinstance(d, str) else d for d in dims]) > MAX_SIZE // 4:
        dims.pop()
    graph.input(dtype, dims, array_of(source, shape, dtype, shared.special))


def _outputs(graph: GraphBuilder) -> list[str]:
    """Some values nobody reads, and sometimes one that is read."""
    source = graph.source
    computed = [name for name in graph.data if all(name != info.name for info in graph.inputs)]
    unread = [name for name in graph.unread() if name in computed]
    count = source.integer(1, 4)
    chosen = source.shuffled(unread)[:count]
    rest = [name for name in computed if name not in chosen]
    if rest and (not chosen or source.chance(40)):
        chosen.append(source.choice(rest))
    return chosen


def _declared_dims(source: Source, shape: tuple[int, ...]) -> list[int | str | None]:
    """What a model says of an output: its rank, and sometimes its dims."""
    return list(shape) if source.chance(30) else [None] * len(shape)
