"""Does the rotary kernel compute what the reference does, in every form that has one?"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from numerics import Array, compiled, proto_type
from onnx.reference import ReferenceEvaluator

from onnxloom.errors import OnnxloomError


def model_of(feeds: dict[str, Array], dynamic: bool, **attributes: Any) -> onnx.ModelProto:
    node = oh.make_node("RotaryEmbedding", list(feeds), ["y"], **attributes)

    def info(name: str, array: Array) -> onnx.ValueInfoProto:
        static = {array.ndim - 1, 1} if array.ndim == 4 else {array.ndim - 1}
        dims = [d if not dynamic or a in static else f"{name}{a}" for a, d in enumerate(array.shape)]
        return oh.make_tensor_value_info(name, proto_type(array), dims)

    result = oh.make_tensor_value_info("y", proto_type(feeds["x"]), None)
    graph = oh.make_graph([node], "g", [info(n, a) for n, a in feeds.items()], [result])
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 23)], ir_version=10)


def operands(shape: tuple[int, ...], rows: int, columns: int, dtype: Any = np.float32) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    tables = (shape[0], rows, columns)
    shapes = {"x": shape, "cos": tables, "sin": tables}
    return {name: rng.standard_normal(s).astype(dtype) for name, s in shapes.items()}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize(
    ("shape", "rows", "columns", "attributes"),
    [
        ((2, 3, 5, 8), 5, 4, {}),
        ((2, 3, 5, 64), 5, 32, {}),
        ((1, 2, 4, 10), 4, 3, {"rotary_embedding_dim": 6}),
        ((2, 5, 24), 5, 4, {"num_heads": 3}),
        ((1, 5, 24), 5, 2, {"num_heads": 3, "rotary_embedding_dim": 4}),
        ((1, 2, 0, 8), 0, 4, {}),
    ],
)
def test_forms(
    shape: tuple[int, ...],
    rows: int,
    columns: int,
    attributes: dict[str, int],
    interleaved: int,
    dynamic: bool,
) -> None:
    feeds = operands(shape, rows, columns)
    model = model_of(feeds, dynamic, interleaved=interleaved, **attributes)
    rotary = compiled(model)
    got = rotary.run(feeds)["y"]
    assert not rotary.host_counts
    assert any("rotary" in name for name in rotary.artifact.symbols)
    if not got.size:
        assert got.shape == shape
        return
    (want,) = ReferenceEvaluator(model).run(None, feeds)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)  # pyright: ignore


def test_half_width_floats_are_rounded_once() -> None:
    feeds = operands((2, 3, 5, 8), 5, 4, np.float16)
    wide = {name: array.astype(np.float32) for name, array in feeds.items()}
    (want,) = ReferenceEvaluator(model_of(wide, False)).run(None, wide)
    got = compiled(model_of(feeds, False)).run(feeds)["y"]
    np.testing.assert_array_equal(got, np.asarray(want).astype(np.float16))


def test_position_ids_are_gathered_first() -> None:
    feeds = operands((2, 3, 5, 8), 5, 4)
    feeds = {**feeds, "cos": feeds["cos"][0], "sin": feeds["sin"][0]}
    feeds["ids"] = np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]])
    model = model_of(feeds, False)
    (want,) = ReferenceEvaluator(model).run(None, feeds)
    rotary = compiled(model)
    np.testing.assert_allclose(rotary.run(feeds)["y"], want, rtol=0, atol=1e-6)  # pyright: ignore
    assert not any("rotary" in name for name in rotary.artifact.symbols)


@pytest.mark.parametrize("shape", [(1, 5, 4), (2, 4, 4)])
def test_tables_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    feeds = operands((2, 3, 5, 8), 5, 4)
    model = model_of(feeds, True)
    feeds["sin"] = np.zeros(shape, np.float32)
    with pytest.raises(OnnxloomError):
        compiled(model).run(feeds)
