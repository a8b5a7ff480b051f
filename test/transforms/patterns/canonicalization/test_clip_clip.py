"""Two Clips in a row: bounds merged in the order they are applied in, or a reason why not."""

from __future__ import annotations

from itertools import product

import numpy as np
import onnx as standard
import pytest
from rewritten import array_of, only, op_names, retyped
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.testing import Feeds
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.canonicalization.clip_clip import ClipClipPattern


def clips(
    inner: str, outer: str, element: str = "float", inputs: str = "", outputs: str = "", rest: str = ""
) -> standard.ModelProto:
    """Bounds are names: of numbers (`m2` is -2, `p2` is 2) or of inputs."""
    constants = ", ".join(
        f"{element} {name} = {{{value}}}"
        for name, value in {"m2": "-2", "m1": "-1", "z": "0", "p1": "1", "p2": "2", "p3": "3"}.items()
        if not (element.startswith("u") and value.startswith("-"))
    )
    body = f"c = Clip(x, {inner})\ny = Clip(c, {outer})\n{rest}"
    return model_of(f"agraph ({element}[N] x{inputs}) => ({element}[N] y{outputs}) <{constants}> {{{body}}}")


BOUNDS = ["", "m2", "m1", "p1", "p2"]
NUMBERS = {"m2": -2, "m1": -1, "p1": 1, "p2": 2}


@pytest.mark.parametrize(("low", "high"), list(product(BOUNDS, BOUNDS)))
def test_any_two_pairs_of_bounds(low: str, high: str) -> None:
    """Disjoint ranges, bounds left out, and ranges turned round among them; NaN and -0.0 as inputs too."""
    feeds: Feeds = {"x": np.array([-3, -2, -1.5, -1, -0.0, 0, 0.5, 1, 2, 3, np.nan, np.inf, -np.inf], "f")}
    for outer_low, outer_high in product(BOUNDS, BOUNDS):
        model = clips(f"{low}, {high}".rstrip(", "), f"{outer_low}, {outer_high}".rstrip(", "))
        if not (low or high):
            model.graph.node[0].input[:] = ["x"]
        done = check_pattern(model, ClipClipPattern, feeds, times=1)
        assert op_names(done) == ["Clip"]


def test_the_upper_bound_meets_the_outer_lower_bound() -> None:
    clip = only(check_pattern(clips("z, p1", "p2, p3"), ClipClipPattern), onnx.ClipOp)
    assert (array_of(clip.min), array_of(clip.max)) == (2.0, 2.0)


@pytest.mark.parametrize("element", ["int8", "int32", "int64", "uint8", "double"])
def test_other_element_types(element: str) -> None:
    clip = only(check_pattern(clips("p1, p3", "z, p2", element), ClipClipPattern), onnx.ClipOp)
    assert (array_of(clip.min), array_of(clip.max)) == (1, 2)
    assert array_of(clip.min).shape == ()


@pytest.mark.parametrize("element", [standard.TensorProto.FLOAT16, standard.TensorProto.BFLOAT16])
def test_sixteen_bit_floats(element: int) -> None:
    clip = only(check_pattern(retyped(clips("z, p3", "z, p2"), element), ClipClipPattern), onnx.ClipOp)
    assert (float(array_of(clip.min)), float(array_of(clip.max))) == (0, 2)


def test_a_computed_lower_and_then_a_computed_upper_bound() -> None:
    model = clips("a", ", b", inputs=", float a, float b")
    for a, b in ((-1, 1), (2, -2), (np.nan, 1)):
        feeds: Feeds = {"x": np.arange(-4, 4, dtype="f"), "a": np.float32(a), "b": np.float32(b)}
        assert op_names(check_pattern(model, ClipClipPattern, feeds)) == ["Clip"]


def test_a_chain_collapses() -> None:
    model = clips("m2, p3", "m1, p2", outputs=", float[N] w", rest="w = Clip(y2, z, p1)")
    model.graph.node[1].output[0] = "y2"
    model.graph.output.pop(0)
    assert op_names(check_pattern(model, ClipClipPattern, times=2)) == ["Clip"]


def test_declines_an_input_that_is_not_clipped() -> None:
    model = clips("m1, p1", "m2, p2")
    model.graph.node[0].op_type = "Identity"
    del model.graph.node[0].input[1:]
    assert "not clipped" in decline_reason(model, ClipClipPattern)


def test_declines_an_inner_result_that_is_an_output() -> None:
    assert "read elsewhere" in decline_reason(
        clips("m1, p1", "m2, p2", outputs=", float[N] c"), ClipClipPattern
    )


def test_declines_an_inner_result_with_a_second_reader() -> None:
    model = clips("m1, p1", "m2, p2", outputs=", float[N] w", rest="w = Exp(c)")
    assert "read elsewhere" in decline_reason(model, ClipClipPattern)


@pytest.mark.parametrize(("inner", "outer"), [("m1, b", "m2, p2"), ("m1, p1", "b, p2"), (", b", ", p2")])
def test_declines_a_computed_bound_that_has_to_be_compared(inner: str, outer: str) -> None:
    model = clips(inner, outer, inputs=", float b")
    assert "not a constant number" in decline_reason(model, ClipClipPattern)


def test_declines_a_bound_that_is_no_number() -> None:
    model = clips("m1, p1", "m2, p2")
    model.graph.initializer[1].CopyFrom(standard.numpy_helper.from_array(np.array(np.nan, "f"), "m1"))
    assert "not a constant number" in decline_reason(model, ClipClipPattern)


@pytest.mark.parametrize(("inner", "outer"), [("z, p1", "nz, p2"), ("m1, z", "nz, p2"), ("m1, nz", "m2, z")])
def test_declines_zeros_of_different_sign(inner: str, outer: str) -> None:
    model = clips(inner, outer)
    model.graph.initializer.append(standard.numpy_helper.from_array(np.array(-0.0, "f"), "nz"))
    assert "left open" in decline_reason(model, ClipClipPattern)


def test_declines_a_bound_of_several_numbers() -> None:
    text = """
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = onnx.Constant dense<[0.0, 1.0]> : tensor<2xf32>
      %b = onnx.Constant dense<2.0> : tensor<f32>
      %0 = "onnx.Clip"(%x, %a, %b) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
      %1 = "onnx.Clip"(%0, %b, %b) : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
      onnx.Return %1 : tensor<4xf32>
    }"""
    assert "not a constant number" in decline_reason(text, ClipClipPattern)
