"""The generator of random graphs: what it makes is valid, varied, and the same for the same seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import onnx.checker
import pytest
from host_graph import Host
from hypothesis import HealthCheck, given, settings
from onnx import GraphProto
from random_graphs import RandomGraph, graphs, seeded_graph
from random_graphs.builder import BOOL, FLOATS, INTEGERS
from random_graphs.growth import families

from onnxloom.testing.difference import differences

SEEDS = range(300)


@pytest.fixture(scope="module")
def some() -> list[RandomGraph]:
    with np.errstate(all="ignore"):
        return [seeded_graph(seed) for seed in SEEDS]


def ops_of(graph: GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from ops_of(attribute.g)


def test_graphs_are_valid(some: list[RandomGraph]) -> None:
    for graph in some:
        onnx.checker.check_model(graph.model, full_check=True)


def test_the_same_seed_gives_the_same_graph() -> None:
    one, other = seeded_graph(7), seeded_graph(7)
    assert one.model == other.model
    for name, array in one.feeds.items():
        assert array.tobytes() == other.feeds[name].tobytes()


def test_outputs_are_what_the_host_gives(some: list[RandomGraph]) -> None:
    for graph in some[:40]:
        values = Host().graph(graph.model.graph, graph.feeds)
        assert not differences(graph.wanted, dict(zip(graph.wanted, values, strict=True)))


def test_graphs_are_varied(some: list[RandomGraph]) -> None:
    ops = Counter(op for graph in some for op in ops_of(graph.model.graph))
    assert len(ops) > 130
    assert {"If", "Loop", "Scan", "Shape", "ConstantOfShape", "LayerNormalization", "Conv"} <= set(ops)
    dtypes = Counter(array.dtype.name for graph in some for array in graph.feeds.values())
    assert {dtype.name for dtype in (*FLOATS, *INTEGERS, BOOL)} <= set(dtypes)
    shapes = [array.shape for graph in some for array in graph.feeds.values()]
    assert () in shapes
    assert any(0 in shape for shape in shapes)
    assert any(len(graph.wanted) > 1 for graph in some)


def test_inputs_hold_special_values(some: list[RandomGraph]) -> None:
    floats = [a.reshape(-1) for graph in some for a in graph.feeds.values() if a.dtype == np.float32]
    numbers = np.concatenate(floats)
    assert np.isnan(numbers).any()
    assert np.isinf(numbers).any()
    assert (np.signbit(numbers) & (numbers == 0)).any()
    assert ((numbers != 0) & (np.abs(numbers) < np.finfo(np.float32).smallest_normal)).any()


def test_some_outputs_are_read_and_some_values_have_several_readers(some: list[RandomGraph]) -> None:
    read = [Counter(name for node in graph.model.graph.node for name in node.input) for graph in some]
    assert any(reads[name] for reads, graph in zip(read, some, strict=True) for name in graph.wanted)
    assert any(count > 1 for reads in read for count in reads.values())


def test_subgraphs_read_values_from_around_them(some: list[RandomGraph]) -> None:
    def captures(graph: GraphProto, outside: set[str]) -> bool:
        own = {t.name for t in graph.initializer} | {i.name for i in graph.input}
        own |= {name for node in graph.node for name in node.output}
        for node in graph.node:
            if (set(node.input) - own) & outside:
                return True
            inner = (a.g for a in node.attribute if a.HasField("g"))
            if any(captures(body, outside | own) for body in inner):
                return True
        return False

    assert any(captures(graph.model.graph, set()) for graph in some)


def test_every_family_has_steps_that_fit() -> None:
    assert all(families().values())


@settings(
    max_examples=20, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(graphs())
def test_hypothesis_draws_from_the_same_grammar(graph: RandomGraph) -> None:
    onnx.checker.check_model(graph.model, full_check=True)
