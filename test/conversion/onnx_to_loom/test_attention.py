"""Does the attention kernel compute what the reference does, in every form that has one?"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from numerics import Array, compiled
from onnx.reference import ReferenceEvaluator

from onnxloom.errors import OnnxloomError

INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value")
SIZES = [
    # batch, heads, key heads, queries, keys, width, width of values
    (2, 3, 3, 5, 7, 8, 8),
    (1, 4, 2, 33, 50, 64, 64),
    (2, 4, 1, 1, 100, 64, 64),
    (1, 2, 2, 2, 49, 16, 24),
    (1, 2, 2, 40, 130, 20, 37),
    (1, 1, 1, 3, 1, 4, 4),
]


def model_of(feeds: dict[str, Array], dynamic: bool, **attributes: Any) -> onnx.ModelProto:
    """One Attention node over these operands; heads and widths are static."""
    names = [name if name in feeds else "" for name in INPUTS]
    while not names[-1]:
        names.pop()
    outputs = ["Y", "present_key", "present_value"] if "past_key" in feeds else ["Y"]
    node = oh.make_node("Attention", names, outputs, **attributes)

    def info(name: str, array: Array) -> onnx.ValueInfoProto:
        dims: list[Any] = list(array.shape)
        if dynamic:
            static = {1, 3} if array.ndim == 4 and not name.startswith("attn") else {array.ndim - 1}
            static = set() if name.startswith("attn") else static
            dims = [d if axis in static else f"{name}_{axis}" for axis, d in enumerate(dims)]
        return oh.make_tensor_value_info(name, oh.np_dtype_to_tensor_dtype(array.dtype), dims)

    kind = oh.np_dtype_to_tensor_dtype(feeds["Q"].dtype)
    results = [oh.make_tensor_value_info(name, kind, None) for name in outputs]
    graph = oh.make_graph([node], "g", [info(n, a) for n, a in feeds.items()], results)
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 25)], ir_version=10)


def check(feeds: dict[str, Array], *, dynamic: bool = True, atol: float = 3e-6, **attributes: Any) -> None:
    model = model_of(feeds, dynamic, **attributes)
    want: Any = ReferenceEvaluator(model).run(None, feeds)
    attention = compiled(model)
    got = list(attention.run(feeds).values())
    assert not attention.host_counts
    assert any("attention" in name for name in attention.artifact.symbols)
    wide = feeds["Q"].dtype == np.float64
    for expected, actual in zip(want, got, strict=True):
        assert actual.shape == expected.shape and actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13 if wide else atol)


def operands(size: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> dict[str, Array]:
    batch, heads, kv_heads, s, t, d, dv = size
    rng = np.random.default_rng(seed)
    shapes = [(batch, heads, s, d), (batch, kv_heads, t, d), (batch, kv_heads, t, dv)]
    return {n: rng.standard_normal(shape).astype(dtype) for n, shape in zip("QKV", shapes, strict=True)}


@pytest.mark.parametrize("size", SIZES)
def test_sizes_and_causal(size: tuple[int, ...]) -> None:
    check(operands(size))
    check(operands(size), is_causal=1, dynamic=False)


@pytest.mark.parametrize("shape", ["S,T", "1,T", "H,S,T", "B,1,S,T", "B,H,1,T", "1,1,S,T"])
def test_masks_are_broadcast(shape: str) -> None:
    size = (2, 4, 2, 5, 50, 16, 16)
    named = {"B": 2, "H": 4, "S": 5, "T": 50, "1": 1}
    rng = np.random.default_rng(1)
    dims = [named[d] for d in shape.split(",")]
    for mask in (rng.standard_normal(dims).astype(np.float32), rng.random(dims) < 0.3):
        for dynamic in (False, True):
            check({**operands(size), "attn_mask": mask}, dynamic=dynamic, scale=0.3)


def test_a_row_that_sees_nothing_is_zero() -> None:
    mask = np.ones((5, 7), bool)
    mask[2] = False
    feeds = {**operands(SIZES[0]), "attn_mask": mask}
    check(feeds)
    assert (compiled(model_of(feeds, False)).run(feeds)["Y"][:, :, 2] == 0).all()


def test_keys_beyond_a_short_mask_are_not_seen() -> None:
    mask = np.random.default_rng(2).standard_normal((5, 4)).astype(np.float32)
    check({**operands(SIZES[0]), "attn_mask": mask}, dynamic=False)
    check({**operands(SIZES[0]), "attn_mask": mask}, dynamic=False, is_causal=1)


@pytest.mark.parametrize("size", SIZES)
def test_past_keys_shift_the_diagonal(size: tuple[int, ...]) -> None:
    batch, _, kv_heads, _, _, d, dv = size
    rng = np.random.default_rng(3)
    past = {
        "past_key": rng.standard_normal((batch, kv_heads, 9, d)).astype(np.float32),
        "past_value": rng.standard_normal((batch, kv_heads, 9, dv)).astype(np.float32),
    }
    check({**operands(size), **past}, is_causal=1)
    check({**operands(size), **past}, dynamic=False, softcap=2.0)


@pytest.mark.parametrize("size", SIZES)
def test_heads_side_by_side(size: tuple[int, ...]) -> None:
    feeds = {
        n: x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1) for n, x in operands(size).items()
    }
    check(feeds, q_num_heads=size[1], kv_num_heads=size[2], is_causal=1)


def test_double_precision_and_large_scores() -> None:
    check(operands(SIZES[1], np.float64))
    feeds = operands(SIZES[1])
    feeds["Q"] *= 1e3
    # Scores of 1e4 are rounded to 1e-3, and so are the exponents.
    check(feeds, dynamic=False, atol=5e-3)


def test_nan_and_infinite_scores_stay_in_their_row() -> None:
    feeds = operands(SIZES[0])
    feeds["Q"][0, 0, 1] = np.nan
    feeds["Q"][1, 2, 3] = np.inf
    check(feeds)


def test_no_queries_and_no_keys() -> None:
    check(operands((1, 2, 2, 0, 5, 4, 4)))
    got = compiled(model_of(operands((1, 2, 2, 3, 0, 4, 4)), True)).run(operands((1, 2, 2, 3, 0, 4, 4)))["Y"]
    assert got.shape == (1, 2, 3, 4) and (got == 0).all()


@pytest.mark.parametrize(
    ("name", "shape"),
    [("K", (2, 3, 7, 8)), ("V", (1, 3, 6, 8)), ("attn_mask", (4, 7)), ("attn_mask", (5, 8))],
)
def test_operands_that_do_not_fit_are_refused(name: str, shape: tuple[int, ...]) -> None:
    feeds = {**operands((1, 3, 3, 5, 7, 8, 8)), "attn_mask": np.zeros((5, 7), np.float32)}
    model = model_of(feeds, True)
    feeds[name] = np.zeros(shape, np.float32)
    with pytest.raises(OnnxloomError):
        compiled(model).run(feeds)
