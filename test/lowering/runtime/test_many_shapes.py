"""Any size of a symbolic dim runs, 0 and 1 included, with the kernels there are and in bounded memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from text_models import compiled

from onnxloom.errors import InputError
from onnxloom.lowering import object_code
from onnxloom.lowering.plan.memo import Memo
from onnxloom.lowering.plan.node import MAX_CHILDREN, Node
from onnxloom.lowering.runtime import instance, tree
from onnxloom.lowering.runtime.instance import Arenas, give_back, take
from onnxloom.lowering.runtime.model import CompiledModel

Array = np.ndarray[Any, Any]

ATTENTION = """agraph (float[B, S, 8] q, float[B, T, 8] k, float[8] bias) =>
           (float[B, S, T] y, float[B, U] z) {
    kt = Transpose <perm = [0, 2, 1]> (k)
    qb = Add(q, bias)
    scores = MatMul(qb, kt)
    y = Softmax <axis = -1> (scores)
    t = Concat <axis = 1> (q, k)
    two = Constant <value_ints = [2]> ()
    one = Constant <value_ints = [1]> ()
    r = ReduceSum <keepdims = 0> (t, two)
    end = Constant <value_ints = [9999]> ()
    z = Slice(r, one, end, one)
}"""


def expected(q: Array, k: Array, bias: Array) -> tuple[Array, Array]:
    scores = (q + bias) @ k.transpose(0, 2, 1)
    if scores.shape[-1]:
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores = scores / scores.sum(axis=-1, keepdims=True)
    return scores, np.concatenate([q, k], axis=1).sum(axis=2)[:, 1:]


def inputs(b: int, s: int, t: int) -> list[Array]:
    rng = np.random.default_rng(b + 10 * s + 100 * t)
    shapes = ((b, s, 8), (b, t, 8), (8,))
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


SHAPES = [(b, s, t) for b in (0, 1, 2, 3) for s in (0, 1, 2, 7) for t in (0, 1, 3, 17)]


@pytest.mark.parametrize("opt_level", [0, 3])
def test_new_shapes_compile_nothing(opt_level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = compiled(ATTENTION, opt_level=opt_level)

    def refuse(*args: Any, **kwargs: Any) -> bytes:
        raise AssertionError("something is compiled while the model runs")

    monkeypatch.setattr(object_code, "compile_object", refuse)
    for shape in SHAPES:
        given = inputs(*shape)
        for got, wanted in zip(model(*given), expected(*given), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5, err_msg=str(shape))
    assert model.host_steps == 0


def test_symbols_of_one_name_are_one_size() -> None:
    model = compiled(ATTENTION)
    q, k, bias = inputs(2, 3, 4)
    with pytest.raises(InputError, match=r"^input 'k': dim 0 \(B\) is 1, but dim 0 of 'q', also B, is 2$"):
        model(q, k[:1], bias)


def nodes(model: CompiledModel) -> Iterator[Node]:
    waiting = model.plans
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children.values()


def test_arenas_of_many_shapes_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance, "MAX_ARENA_BYTES", 1 << 16)
    model = compiled(ATTENTION, opt_level=0)
    for s in range(1, 90):
        given = inputs(1, s, 5)
        np.testing.assert_allclose(model(*given)[0], expected(*given)[0], rtol=1e-4, atol=1e-5)
        kept = sum(i.arena_bytes for node in nodes(model) for i in node.free)
        largest = max(i.arena_bytes for node in nodes(model) for i in node.free)
        assert kept == model.engine.arenas.nbytes <= max(1 << 16, largest)
    assert len(model.plans) == MAX_CHILDREN
    assert sum(bool(node.free) for node in nodes(model)) < MAX_CHILDREN


def test_an_arena_in_use_is_counted_once_it_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    model = compiled(ATTENTION, opt_level=0)
    for s in (3, 9):
        model(*inputs(1, s, 5))
    first, second = nodes(model)
    arenas = Arenas()
    executor = model.engine.executor
    a, b = take(first, executor), take(second, executor)
    a.counted = b.counted = False
    give_back(first, a, arenas)
    assert take(first, executor) is a
    monkeypatch.setattr(instance, "MAX_ARENA_BYTES", b.arena_bytes)
    give_back(second, b, arenas)
    assert (a.counted, b.counted, arenas.nbytes) == (False, True, b.arena_bytes)
    give_back(first, a, arenas)
    assert (a.counted, b.counted, arenas.nbytes) == (True, False, a.arena_bytes)
    assert (first.free, second.free) == ([a], [])


def test_observations_of_many_values_begin_a_tree_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_NODES", 20)
    model = compiled("agraph (float[N] x, int64[2] s) => (float[A, B] y) { a = Neg(x) y = Reshape(a, s) }")
    x = np.arange(360, dtype=np.float32)
    sizes = [n for n in range(1, 361) if 360 % n == 0]
    for _ in range(3):
        for n in sizes:
            np.testing.assert_array_equal(model(x, np.array([n, -1]))[0], -x.reshape(n, -1))
            assert len(list(nodes(model))) <= 20


def test_thousands_of_shapes_do_not_grow_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memo, "LIMIT", 200)
    model = compiled("agraph (float[A, B] x, float[B] w) => (float[C] y) { s = MatMul(x, w) y = Exp(s) }")

    def run(begin: int, end: int) -> None:
        for i in range(begin, end):
            x, w = np.zeros((i % 50, i // 50), np.float32), np.zeros(i // 50, np.float32)
            np.testing.assert_array_equal(model(x, w)[0], np.ones(i % 50))

    run(0, 200)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        run(200, 2000)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 2 << 20
    counted = model.engine.arenas._made  # pyright: ignore[reportPrivateUsage]
    assert len(counted) <= 4 * MAX_CHILDREN


def test_shapes_on_several_threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance, "MAX_ARENA_BYTES", 1 << 14)
    monkeypatch.setattr(tree, "MAX_NODES", 16)
    model = compiled(ATTENTION)
    many = [inputs(1 + i % 2, 1 + i % 37, 1 + i % 11) for i in range(300)]
    with ThreadPoolExecutor(4) as threads:
        for given, got in zip(many, threads.map(lambda given: model(*given), many), strict=True):
            np.testing.assert_allclose(got[0], expected(*given)[0], rtol=1e-4, atol=1e-5)
