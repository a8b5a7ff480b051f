"""Do elementwise kernels broadcast right for all shapes, with one compilation per structure?"""

from __future__ import annotations

import numpy as np
import onnx.helper as oh
import pytest
from numerics import Array, assert_close, check_op, compiled, graph_model

RNG = np.random.default_rng(7)
SHAPES = [
    [(4, 5), (4, 5)],
    [(4, 5), (1, 5)],
    [(4, 5), (4, 1)],
    [(4, 1), (1, 5)],
    [(1, 1), (4, 5)],
    [(1, 5), (1, 5)],
    [(4, 1), (4, 1)],
    [(0, 5), (1, 5)],
    [(1, 1), (1, 1)],
    [(33, 70), (33, 70)],
]


def normal(*shape: int, dtype: str = "float32") -> Array:
    return RNG.normal(size=shape).astype(dtype)


def test_one_dynamic_kernel_serves_every_broadcast() -> None:
    check_op("Sub", [[normal(*a), normal(*b)] for a, b in SHAPES])


@pytest.mark.parametrize("shapes", SHAPES)
def test_static_shapes(shapes: list[tuple[int, ...]]) -> None:
    check_op("Sub", [[normal(*s) for s in shapes]], dynamic=False)


@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3, 4, 5), (3, 1, 1)],
        [(2, 3, 4, 5), (1, 3, 1, 5)],
        [(3, 1, 1), (2, 3, 4, 5)],
        [(5,), (2, 1, 5)],
        [(), (2, 3)],
        [(), ()],
        [(2, 3), (1, 1, 1)],
        [(2, 1, 4, 1), (3, 1, 5)],
        [(2, 1, 3, 1), (1, 4, 1, 5)],
    ],
)
def test_ranks_differ(shapes: list[tuple[int, ...]]) -> None:
    for dynamic in (True, False):
        check_op("Sub", [[normal(*s) for s in shapes]], dynamic=dynamic)


def test_three_operands_of_different_types() -> None:
    condition = RNG.integers(0, 2, (4, 1)).astype(bool)
    check_op("Where", [[condition, normal(4, 5), normal(5)]])


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int16", "int64", "uint32"])
def test_element_types(dtype: str) -> None:
    a, b = ((RNG.integers(1, 60, (3, 70)) / 2).astype(dtype) + np.dtype(dtype).type(1) for _ in range(2))
    for name in ("Add", "Mul", "Div", "Max"):
        check_op(name, [[a, b]])


def test_scalar_constant_is_part_of_the_kernel() -> None:
    check_op("Mul", [[normal(3, 4)]], constants={1: np.array(0.5, np.float32)})
    check_op("Mul", [[normal(4)]], constants={1: np.full((1, 1), 0.5, np.float32)})


def test_quantization_parameters_along_an_axis() -> None:
    scale = np.array([0.5, 0.25, 2.0], np.float32)
    zero = np.array([1, 2, 3], np.uint8)
    check_op("QuantizeLinear", [[normal(2, 3, 4, 4) * 10]], constants={1: scale, 2: zero}, axis=1)
    x = RNG.integers(0, 255, (2, 3, 4)).astype(np.uint8)
    check_op("DequantizeLinear", [[x]], constants={1: scale, 2: zero}, axis=1)
    check_op("DequantizeLinear", [[x.transpose(0, 2, 1).copy()]], constants={1: scale, 2: zero}, axis=-1)


def test_input_is_not_overwritten_when_memory_is_taken_over() -> None:
    nodes = [
        oh.make_node("Relu", ["x"], ["a"]),
        oh.make_node("Neg", ["a"], ["b"]),
        oh.make_node("Add", ["b", "a"], ["y"]),
    ]
    x = normal(64, 64)
    kept = x.copy()
    model = compiled(graph_model(nodes, {"x": x}, {"y": x}))
    (y,) = model.run({"x": x}).values()
    np.testing.assert_array_equal(x, kept)
    assert_close([y], [np.zeros_like(x)])
