"""Does DynamicQuantizeLSTM as kernels compute what its definition says, with integer sums that are exact?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from numerics import Array, compiled, graph_model

from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.runtime.host_ops.registry import Attributes
from onnxloom.lowering.runtime.host_ops.replacements.dynamic_quantize_lstm import dynamic_quantize_lstm


def multiply_bytes(monkeypatch: pytest.MonkeyPatch, dot_bytes: bool) -> None:
    """Compiles for a processor that has an instruction for products of bytes, or has none."""
    tiles = replace(CpuTarget.host().tiles, dot_bytes=dot_bytes)
    monkeypatch.setattr(CpuTarget, "tiles", property(lambda self: tiles))


@pytest.fixture(params=["words", "floats"], autouse=True)
def products(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test, with products of bytes and of floats."""
    multiply_bytes(monkeypatch, request.param == "words")


NAMES = ("X", "W", "R", "B", "L", "H", "C", "P", "WS", "WZ", "RS", "RZ")


def quantized(rng: np.random.Generator, *shape: int, dtype: Any = np.int8) -> Array:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def case(
    *,
    hidden: int,
    features: int,
    directions: int,
    dtype: Any = np.int8,
    by_column: bool = False,
    zero: int = 0,
) -> dict[str, Array]:
    rng = np.random.default_rng(hidden)
    scales = (directions, 4 * hidden) if by_column else (directions,)

    def normal(*shape: int) -> Array:
        return rng.normal(size=shape).astype(np.float32)

    return {
        "X": normal(5, 2, features),
        "W": quantized(rng, directions, features, 4 * hidden, dtype=dtype),
        "R": quantized(rng, directions, hidden, 4 * hidden, dtype=dtype),
        "B": normal(directions, 8 * hidden),
        "WS": (0.004 * (1 + rng.random(scales))).astype(np.float32),
        "WZ": np.full(scales, zero, dtype),
        "RS": (0.004 * (1 + rng.random(scales))).astype(np.float32),
        "RZ": np.full(scales, zero, dtype),
    }


def node_of(held: Mapping[str, Array], hidden: int, **attrs: Any) -> onnx.NodeProto:
    names = [n if n in held else "" for n in NAMES]
    return oh.make_node(
        "DynamicQuantizeLSTM", names, ["Y", "Yh", "Yc"], domain="com.microsoft", hidden_size=hidden, **attrs
    )


def run(node: onnx.NodeProto, held: Mapping[str, Array]) -> tuple[dict[str, int], list[Array], list[Array]]:
    """Names of host steps, our results, and those of the definition."""
    want = dynamic_quantize_lstm(Attributes.of(node), *[held.get(n) for n in NAMES])  # pyright: ignore
    feeds = {n: a for n, a in held.items() if n in "XHC"}
    constants = {n: a for n, a in held.items() if n not in feeds}
    outputs = dict(zip(node.output, want, strict=True))
    model = graph_model([node], feeds, outputs, constants=constants)
    model.opset_import.append(oh.make_opsetid("com.microsoft", 1))
    ours = compiled(model)
    got = list(ours.run(feeds).values())
    return dict(ours.host_counts), got, list(want)


def check(held: Mapping[str, Array], hidden: int, **attrs: Any) -> None:
    node = node_of(held, hidden, **attrs)
    host_steps, got, want = run(node, held)
    assert not host_steps
    for a, b in zip(got, want, strict=True):
        # A last bit that differs may quantize to the neighbouring level: 1/255 of the state's range.
        np.testing.assert_allclose(a, b, atol=4e-3)
        assert np.abs(a - b).mean() < 1e-4


def test_both_directions_with_initial_states() -> None:
    held = case(hidden=24, features=7, directions=2)
    rng = np.random.default_rng(9)
    held["H"], held["C"] = (rng.normal(size=(2, 2, 24)).astype(np.float32) for _ in range(2))
    check(held, 24, direction="bidirectional")


def test_scales_per_column_and_an_unsigned_zero_point() -> None:
    check(case(hidden=20, features=9, directions=1, dtype=np.uint8, by_column=True, zero=128), 20)


def test_hidden_units_that_do_not_fill_words() -> None:
    check(case(hidden=23, features=5, directions=2), 23, direction="bidirectional")


def test_differences_beyond_signed_bytes() -> None:
    check(case(hidden=12, features=9, directions=1, dtype=np.uint8, zero=100), 12)


def test_both_kinds_of_products_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    held = case(hidden=21, features=9, directions=1)
    node = node_of(held, 21)
    multiply_bytes(monkeypatch, True)
    words = run(node, held)[1]
    multiply_bytes(monkeypatch, False)
    for a, b in zip(words, run(node, held)[1], strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_state_of_zeros_has_no_range() -> None:
    held = case(hidden=8, features=3, directions=1)
    held["X"] = np.zeros_like(held["X"])
    held["B"] = np.zeros_like(held["B"])
    _, got, want = run(node_of(held, 8), held)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_sums_that_f32_does_not_hold_stay_on_the_host() -> None:
    held = case(hidden=8, features=600, directions=1)
    held["W"] = np.full_like(held["W"], -128)
    with pytest.warns(match="exceed what f32 holds exactly"):
        run(node_of(held, 8), held)
