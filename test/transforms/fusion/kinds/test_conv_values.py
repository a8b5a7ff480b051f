"""Convolutions with epilogues against the reference: shapes, types, operands, conditions, special values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx as onnx_lib
import onnxruntime as ort
import pytest
from fused_values import Array, assert_same, compiled, fused, lowered_as_one, normal, reference
from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_to_loom.decline import FusionFallbackWarning
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.lowering.compile import CompileOptions, compile_module
from onnxloom.transforms.fusion.kinds.conv_epilogue import ConvEpilogueFusion

KIND = "onnx.conv_epilogue"

NORM_SWISH = """
func.func @f(%x: XT, %w: WT, %s: CT, %b: CT, %m: CT, %v: CT, %r: RT) -> YT {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %b) {ATTRIBUTES} : (XT, WT, CT) -> YT
  %1, %2, %3 = "onnx.BatchNormalization"(%0, %s, %b, %m, %v) {epsilon = 0.01 : f32}
    : (YT, CT, CT, CT, CT) -> (YT, none, none)
  %4 = "onnx.Sigmoid"(%1) : (YT) -> YT
  %5 = "onnx.Mul"(%1, %4) : (YT, YT) -> YT
  %6 = "onnx.Add"(%r, %5) : (RT, YT) -> YT
  onnx.Return %6 : YT
}"""
"""Statistics, x * sigmoid(x) and a residual."""


def norm_swish(
    x: str, w: str, y: str, residual: str | None = None, *, element: str = "f32", attributes: str = ""
) -> ModuleOp:
    text = NORM_SWISH.replace("ATTRIBUTES", attributes)
    types = {"XT": x, "WT": w, "YT": y, "CT": w.split("x")[0], "RT": y if residual is None else residual}
    for name, shape in types.items():
        text = text.replace(name, f"tensor<{shape}x{element}>" if shape else f"tensor<{element}>")
    return parse_module(text)


def feeds(x: Sequence[int], w: Sequence[int], r: Sequence[int], element: str = "f32") -> list[Array]:
    scale, bias, mean = (normal((w[0],), element, seed) for seed in (2, 3, 4))
    variance = np.abs(normal((w[0],), element, 5))
    return [normal(x, element), normal(w, element, 1), scale, bias, mean, variance, normal(r, element, 6)]


def check(module: ModuleOp, inputs: Sequence[Array], tolerance: float = 1e-4) -> None:
    assert_same(lowered_as_one(module, KIND, inputs), reference(module, inputs), tolerance)


PADS = "pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64]"
STRIDES = "strides = [2 : si64, 2 : si64]"
SHAPES: list[tuple[tuple[str, str, str, str | None], str, tuple[Sequence[int], ...]]] = [
    # One tap, many taps, one channel per group, groups; 1, 2 and 3 spatial dims.
    (("2x3x5x7", "8x3x1x1", "2x8x5x7", None), "", ((2, 3, 5, 7), (8, 3, 1, 1), (2, 8, 5, 7))),
    (("2x3x5x7", "8x3x3x3", "2x8x5x7", None), PADS, ((2, 3, 5, 7), (8, 3, 3, 3), (2, 8, 5, 7))),
    (
        ("2x6x9x35", "6x1x3x3", "2x6x9x35", None),
        PADS + ", group = 6 : si64",
        ((2, 6, 9, 35), (6, 1, 3, 3), (2, 6, 9, 35)),
    ),
    (
        ("1x4x9x9", "6x2x3x3", "1x6x4x4", None),
        STRIDES + ", group = 2 : si64",
        ((1, 4, 9, 9), (6, 2, 3, 3), (1, 6, 4, 4)),
    ),
    (("2x3x20", "4x3x3", "2x4x18", None), "", ((2, 3, 20), (4, 3, 3), (2, 4, 18))),
    (("1x2x4x5x6", "3x2x2x2x2", "1x3x3x4x5", None), "", ((1, 2, 4, 5, 6), (3, 2, 2, 2, 2), (1, 3, 3, 4, 5))),
    # Residuals that broadcast: one number, per channel, per image, per image and channel, all points.
    (("2x3x5x7", "8x3x3x3", "2x8x5x7", ""), PADS, ((2, 3, 5, 7), (8, 3, 3, 3), ())),
    (("2x3x5x7", "8x3x3x3", "2x8x5x7", "8x1x1"), PADS, ((2, 3, 5, 7), (8, 3, 3, 3), (8, 1, 1))),
    (("2x3x5x7", "8x3x1x1", "2x8x5x7", "2x1x1x1"), "", ((2, 3, 5, 7), (8, 3, 1, 1), (2, 1, 1, 1))),
    (("2x3x5x7", "8x3x1x1", "2x8x5x7", "2x8x1x1"), "", ((2, 3, 5, 7), (8, 3, 1, 1), (2, 8, 1, 1))),
    (
        ("2x6x9x35", "6x1x3x3", "2x6x9x35", "9x35"),
        PADS + ", group = 6 : si64",
        ((2, 6, 9, 35), (6, 1, 3, 3), (9, 35)),
    ),
    (("2x3x1x7", "8x3x1x1", "2x8x1x7", "7"), "", ((2, 3, 1, 7), (8, 3, 1, 1), (7,))),
    # Sizes that are not known.
    (("?x3x?x?", "8x3x1x1", "?x8x?x?", "8x1x1"), "", ((2, 3, 5, 7), (8, 3, 1, 1), (8, 1, 1))),
    (("?x3x?x?", "8x3x3x3", "?x8x?x?", "8x1x1"), STRIDES, ((2, 3, 5, 7), (8, 3, 3, 3), (8, 1, 1))),
    (("?x3x?x?", "8x3x3x3", "?x8x?x?", "8x1x1"), PADS, ((0, 3, 5, 7), (8, 3, 3, 3), (8, 1, 1))),
    (("0x3x5x7", "8x3x3x3", "0x8x5x7", None), PADS, ((0, 3, 5, 7), (8, 3, 3, 3), (0, 8, 5, 7))),
    (("1x3x1x1", "1x3x1x1", "1x1x1x1", None), "", ((1, 3, 1, 1), (1, 3, 1, 1), (1, 1, 1, 1))),
]


@pytest.mark.parametrize("types, attributes, shapes", SHAPES)
def test_every_shape(types: tuple[str, str, str, str | None], attributes: str, shapes: Any):
    check(norm_swish(*types, attributes=attributes), feeds(*shapes))


@pytest.mark.parametrize("element, tolerance", [("f64", 1e-6), ("f16", 2e-2), ("bf16", 2e-1)])
def test_every_type(element: str, tolerance: float):
    module = norm_swish("1x3x5x7", "4x3x3x3", "1x4x5x7", attributes=PADS, element=element)
    inputs = feeds((1, 3, 5, 7), (4, 3, 3, 3), (1, 4, 5, 7), element)
    unfused = compiled(module, inputs)
    # Half precision: rounded wherever an op ends, so to the bit.
    assert_same(lowered_as_one(module, KIND, inputs), unfused, 1e-12 if element == "f64" else 0.0)
    if element != "bf16":
        assert_same(unfused, reference(module, inputs), tolerance)


def test_onnxruntime_without_optimizations_agrees():
    module = norm_swish("2x3x9x9", "8x3x3x3", "2x8x4x4", attributes=STRIDES)
    inputs = feeds((2, 3, 9, 9), (8, 3, 3, 3), (2, 8, 4, 4))
    model: onnx_lib.ModelProto = export_model(module, opset=21)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    expected = [np.asarray(y) for y in session.run(None, dict(zip(names, inputs, strict=True)))]
    assert_same(lowered_as_one(module, KIND, inputs), expected, 1e-5)


def test_nan_and_infinities_come_through():
    module = norm_swish("1x3x5x7", "4x3x3x3", "1x4x5x7", attributes=PADS)
    inputs = feeds((1, 3, 5, 7), (4, 3, 3, 3), (1, 4, 5, 7))
    inputs[0][0, 0, 0, 0], inputs[0][0, 1, 4, 6] = np.nan, np.inf
    inputs[6][0, 2, 2, 2] = -np.inf
    inputs[5][3] = 0.0
    check(module, inputs)


def test_an_epilogue_may_end_in_another_type():
    module = parse_module("""
func.func @f(%x: tensor<1x3x5x7xf32>, %w: tensor<4x3x3x3xf32>, %s: tensor<4xf32>, %z: tensor<4xi8>)
    -> tensor<1x4x3x5xi8> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x3x5x7xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x3x5xf32>
  %1 = "onnx.QuantizeLinear"(%0, %s, %z) {axis = 1 : si64}
    : (tensor<1x4x3x5xf32>, tensor<4xf32>, tensor<4xi8>) -> tensor<1x4x3x5xi8>
  onnx.Return %1 : tensor<1x4x3x5xi8>
}""")
    rng = np.random.default_rng(0)
    # Whole numbers: their sums do not depend on the order.
    x = rng.integers(-3, 4, (1, 3, 5, 7)).astype(np.float32)
    w = rng.integers(-3, 4, (4, 3, 3, 3)).astype(np.float32)
    inputs = [x, w, np.array([0.3, 0.1, 1.7, 2.3], np.float32), np.array([0, 3, -5, 1], np.int8)]
    check(module, inputs, 0.0)


def test_switched_off_the_names_and_values_stay():
    module = norm_swish("1x3x5x7", "4x3x3x3", "1x4x5x7", attributes=PADS)
    inputs = feeds((1, 3, 5, 7), (4, 3, 3, 3), (1, 4, 5, 7))
    on = compile_module(module.clone(), CompileOptions())
    off = compile_module(module.clone(), CompileOptions(disabled_kinds=(KIND,)))
    assert {kind for kind, _ in on.artifact.fused} == {KIND}
    assert {kind for kind, _ in off.artifact.fused} == {"onnx.elementwise"}
    names = [value.name for value in on.inputs]
    given = dict(zip(names, inputs, strict=True))
    first, second = on.run(given), off.run(given)
    assert list(first) == list(second)
    assert_same(list(first.values()), list(second.values()), 1e-6)


# Dim conditions: the residual has the rows of the input.

SAME_ROWS = """
func.func @f(%x: tensor<1x4x?x8xf32> {onnx.dim_params = "2:h"}, %w: tensor<4x4x3x3xf32>,
    %r: tensor<1x4x?x8xf32> {onnx.dim_params = "2:h"}) -> tensor<1x4x?x8xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) {pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64]}
    : (tensor<1x4x?x8xf32>, tensor<4x4x3x3xf32>, none) -> tensor<1x4x?x8xf32>
  %1 = "onnx.Add"(%0, %r) : (tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>) -> tensor<1x4x?x8xf32>
  onnx.Return %1 : tensor<1x4x?x8xf32>
}"""


def without_names(module: ModuleOp) -> ModuleOp:
    """The same module as text that says nothing about equal dims."""
    return parse_module(str(module).replace('onnx.dim_params = "2:h"', ""))


@pytest.mark.parametrize("rows", [(5, 5), (1, 5), (5, 1), (1, 1)])
def test_a_condition_that_does_not_hold_runs_the_unfused_ops(rows: tuple[int, int]):
    module = without_names(fused(parse_module(SAME_ROWS), KIND))
    assert "dim_conditions" in str(module)
    inputs = [
        normal((1, 4, rows[0], 8)),
        normal((4, 4, 3, 3), "f32", 1),
        normal((1, 4, rows[1], 8), "f32", 2),
    ]
    assert_same(compiled(module, inputs), reference(module, inputs), 1e-4)


def test_without_its_condition_the_body_is_not_trusted():
    module = without_names(fused(parse_module(SAME_ROWS), KIND))
    (op,) = (op for op in module.walk() if isinstance(op, onnx.FusedOp))
    del op.attributes["dim_conditions"]
    inputs = [normal((1, 4, 1, 8)), normal((4, 4, 3, 3), "f32", 1), normal((1, 4, 5, 8), "f32", 2)]
    with pytest.warns(FusionFallbackWarning, match="may be smaller"):
        actual = compiled(module, inputs)
    assert_same(actual, reference(module, inputs), 1e-4)


def test_a_window_that_steps_does_not_have_the_rows_of_its_input():
    text = str(without_names(fused(parse_module(SAME_ROWS), KIND)))
    module = parse_module(text.replace("<{pads", "<{strides = [2 : i64, 1 : i64], pads"))
    inputs = [normal((1, 4, 2, 8)), normal((4, 4, 3, 3), "f32", 1), normal((1, 4, 2, 8), "f32", 2)]
    with pytest.warns(FusionFallbackWarning, match="may be smaller"):
        actual = compiled(module, inputs)
    assert_same(actual, reference(module, inputs), 1e-4)


@pytest.mark.parametrize(
    "before, after, reason",
    [
        ("pads = [1 : i64, 1 : i64, 1 : i64, 1 : i64]", "pads = [1 : i64, 1 : i64]", "2 entries"),
        ("tensor<8x1x1xf32>", "tensor<7xf32>", "some spatial dims"),
    ],
)
def test_a_form_without_a_kernel_is_not_of_the_kind(before: str, after: str, reason: str):
    module = fused(norm_swish("2x3x5x7", "8x3x3x3", "2x8x5x7", "8x1x1", attributes=PADS), KIND)
    text = str(module)
    assert before in text
    edited = parse_module(text.replace(before, after))
    (op,) = (op for op in edited.walk() if isinstance(op, onnx.FusedOp))
    assert reason in str(ConvEpilogueFusion.verify_and_retrieve_attrs(op))
