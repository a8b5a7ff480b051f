"""Chains of pointwise and depthwise convolutions as one kernel against the reference."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from bottleneck_text import Link, chain_text, fill_constants
from channels_last_text import ints
from fused_values import DTYPES, Array, assert_same, compiled, fused, lowered_as_one, normal, reference
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i64

from onnxloom.conversion.onnx_to_loom.channels_last import bottleneck
from onnxloom.conversion.onnx_to_loom.channels_last.point_product import column_tiles
from onnxloom.conversion.onnx_to_loom.decline import FusionFallbackWarning
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.fusion.kinds.depthwise_pointwise import DepthwisePointwiseFusion
from onnxloom.transforms.fusion.kinds.inverted_bottleneck import InvertedBottleneckFusion
from onnxloom.transforms.fusion.kinds.pointwise_depthwise import PointwiseDepthwiseFusion

KINDS = (InvertedBottleneckFusion, DepthwisePointwiseFusion, PointwiseDepthwiseFusion)
INVERTED, PROJECTED, EXPANDED = (kind.kind for kind in KINDS)


@pytest.fixture(autouse=True)
def _everything_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in KINDS:
        monkeypatch.setattr(kind, "least_bytes", 0)


def window(channels: int, pads: Sequence[int] = (1, 1, 1, 1), **lists: Sequence[int]) -> str:
    named = {"pads": pads, **lists}
    return ", ".join([f"group = {channels} : si64", *(ints(name, v) for name, v in named.items())])


def expand(dims: Sequence[int], channels: int) -> Link:
    return Link([channels, dims[-1], 1, 1], [*dims[:3], channels])


def slide(channels: int, result: Sequence[int], attributes: str = "", kernel: int = 3) -> Link:
    return Link([channels, 1, kernel, kernel], result, attributes or window(channels))


def project(dims: Sequence[int], channels: int) -> Link:
    return Link([channels, dims[-1], 1, 1], [*dims[:3], channels], activates=False)


X = [2, 9, 14, 12]
Chain = tuple[str, Sequence[int], Sequence[Link], Sequence[int] | None]
CASES: dict[str, Chain] = {
    "residual": (INVERTED, X, [expand(X, 40), slide(40, [2, 9, 14, 40]), project([2, 9, 14, 40], 12)], X),
    "stride": (
        INVERTED, X,
        [expand(X, 24), slide(24, [2, 5, 7, 24], window(24, strides=[2, 2])), project([2, 5, 7, 24], 17)],
        None,
    ),
    "5x5, one number per channel and image": (
        INVERTED, X,
        [expand(X, 33), slide(33, [2, 9, 14, 33], window(33, [2] * 4), 5), project([2, 9, 14, 33], 50)],
        [2, 1, 1, 50],
    ),
    "no border": (
        INVERTED, X,
        [expand(X, 16), slide(16, [2, 7, 12, 16], window(16, [0] * 4)), project([2, 7, 12, 16], 3)],
        [2, 7, 12, 1],
    ),
    "gaps": (
        INVERTED, X,
        [expand(X, 16), slide(16, [2, 9, 14, 16], window(16, [2] * 4, dilations=[2, 2])),
         project([2, 9, 14, 16], 100)],
        None,
    ),
    "same": (
        INVERTED, X,
        [expand(X, 16),
         slide(16, [2, 5, 7, 16], 'group = 16 : si64, auto_pad = "SAME_UPPER", ' + ints("strides", [2, 2])),
         project([2, 5, 7, 16], 8)],
        None,
    ),
    "wide border": (
        INVERTED, [1, 2, 3, 4],
        [expand([1, 2, 3, 4], 8), slide(8, [1, 8, 9, 8], window(8, [4] * 4)), project([1, 8, 9, 8], 4)],
        None,
    ),
    "projected": (
        PROJECTED, X, [slide(12, [2, 9, 14, 12]), project([2, 9, 14, 12], 20)], [20],
    ),
    "projected, stride": (
        PROJECTED, X,
        [slide(12, [2, 5, 7, 12], window(12, strides=[2, 2])), project([2, 5, 7, 12], 70)],
        None,
    ),
    "expanded": (EXPANDED, X, [expand(X, 40), slide(40, [2, 9, 14, 40])], [2, 9, 14, 40]),
    "no images": (
        INVERTED, [0, 5, 5, 4],
        [expand([0, 5, 5, 4], 8), slide(8, [0, 5, 5, 8]), project([0, 5, 5, 8], 4)], None,
    ),
}  # fmt: skip


def built(case: str, element: str = "f32") -> tuple[str, ModuleOp, list[Array]]:
    """Kind, module, inputs."""
    kind, x, links, residual = CASES[case]
    module = parse_module(chain_text(x, links, element=element, residual=residual))
    arrays: list[Array] = []
    for i, link in enumerate(links):
        scale = np.asarray(np.prod(link.weights[1:]) ** -0.5, DTYPES[element])
        arrays += [normal(link.weights, element, i) * scale, normal(link.weights[:1], element, 9 + i)]
    fill_constants(module, arrays)
    return (
        kind,
        module,
        [normal(x, element, 20), *([] if residual is None else [normal(residual, element, 21)])],
    )


@pytest.mark.parametrize("case", CASES)
def test_every_chain(case: str) -> None:
    kind, module, inputs = built(case)
    assert_same(lowered_as_one(module, kind, inputs), reference(module, inputs), 2e-5)


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize(
    "case", ["residual", "stride", "5x5, one number per channel and image", "wide border"]
)
def test_strips_of_few_lines(case: str, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tasks of as few lines as there can be, of one step or of several.
    monkeypatch.setattr(bottleneck, "KEPT_BYTES", 1 if lines == 1 else 9000)
    monkeypatch.setattr(bottleneck, "POINTS", 1)
    kind, module, inputs = built(case)
    assert_same(lowered_as_one(module, kind, inputs), reference(module, inputs), 2e-5)


def test_f64() -> None:
    kind, module, inputs = built("residual", "f64")
    assert_same(lowered_as_one(module, kind, inputs), reference(module, inputs), 1e-12)


RESIDUALS = {"its own input": "%x", "of as many images": "%n", "of any number of images": "%r"}


@pytest.mark.parametrize("case", RESIDUALS)
def test_the_number_of_images_may_be_unknown(case: str) -> None:
    kind, x, links, residual = CASES["residual"]
    dynamic = [Link(link.weights, ["?", *link.result[1:]], link.attributes, link.activates) for link in links]
    assert residual is not None
    type_ = "tensor<?x9x14x12xf32>"
    text = chain_text(["?", *x[1:]], dynamic, residual=["?", *residual[1:]])
    text = text.replace("%w0 =", f'%n = "onnx.Neg"(%x) : ({type_}) -> {type_}\n%w0 =')
    module = parse_module(text.replace("%r) :", f"{RESIDUALS[case]}) :"))
    (fused_op,) = (op for op in fused(module, kind).walk() if isinstance(op, onnx.FusedOp))
    adds = any(op.name == "onnx.Add" for op in fused_op.body.block.ops)
    assert adds == (case != "of any number of images")
    for images in (1, 3):
        inputs = [normal([images, *x[1:]]), normal([images, *residual[1:]], seed=1)]
        assert_same(lowered_as_one(module, kind, inputs), reference(module, inputs), 2e-4)


def test_nan_and_infinities_come_through() -> None:
    kind, module, inputs = built("residual")
    inputs[0][0, 0, 0, 0], inputs[1][1, 8, 13, 11] = np.nan, np.inf
    assert_same(lowered_as_one(module, kind, inputs), reference(module, inputs), 2e-5)


def _delete_op(fused_op: Any) -> None:
    relu = next(op for op in fused_op.body.block.ops if op.name == "onnx.Relu")
    relu.results[0].replace_all_uses_with(relu.operands[0])
    relu.detach()
    relu.erase()


def _other_counts(fused_op: Any) -> None:
    fused_op.attributes["op_counts"] = ArrayAttr([IntegerAttr(v, i64) for v in (4, 3, 5)])


def _no_counts(fused_op: Any) -> None:
    del fused_op.attributes["op_counts"]


def _insert_op(fused_op: Any) -> None:
    end = fused_op.body.block.last_op
    op = onnx.NegOp.create(operands=[end.operands[0]], result_types=[end.operands[0].type])
    fused_op.body.block.insert_op_before(op, end)
    end.operands[0] = op.results[0]


@pytest.mark.parametrize("tamper", [_delete_op, _insert_op, _other_counts, _no_counts])
def test_a_body_that_was_changed_is_taken_apart(tamper: Callable[[Any], None]) -> None:
    kind, module, inputs = built("residual")
    changed = fused(module, kind)
    tamper(next(op for op in changed.walk() if isinstance(op, onnx.FusedOp)))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        actual = compiled(changed, inputs)
    assert any(issubclass(w.category, FusionFallbackWarning) for w in seen)
    assert_same(actual, reference(changed, inputs), 2e-5)


def test_columns_are_spread_evenly_over_tiles() -> None:
    def shapes(columns: int, lanes: int = 16) -> list[tuple[int, int, tuple[int, ...]]]:
        return [(t.first, t.count, t.offsets) for t in column_tiles(columns, lanes)]

    assert shapes(96) == [(0, 2, (0, 16, 32))]
    assert shapes(64) == [(0, 2, (0, 16))]
    assert shapes(24) == [(0, 1, (0, 8))]
    for columns in range(1, 200):
        lanes = min(16, 1 << (columns.bit_length() - 1))
        tiles = column_tiles(columns, lanes)
        seen = {
            t.first + i * t.step + o + lane
            for t in tiles for i in range(t.count) for o in t.offsets for lane in range(lanes)
        }  # fmt: skip
        assert seen == set(range(columns))
