"""Slices that tile an axis become a Split, or a reason why they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx as standard
import pytest
from rewritten import array_of, only, op_names
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.collections.slices_split import SlicesSplitPattern

Bounds = list[tuple[int, int]]
LARGEST = np.iinfo(np.int64).max


def slices(
    bounds: Bounds,
    *,
    x: str = "float[2, 6]",
    axis: int | None = 1,
    inputs: str = "",
    extra: str = "",
    outputs: str = "",
    steps: int | None = None,
    index: str = "int64",
) -> standard.ModelProto:
    """`y0`, `y1`, ..: a Slice of `x` for each pair of bounds."""
    element = x.split("[")[0]
    rank = x.count(",") + 1
    lines: list[str] = []
    constants = [f"{index}[1] ax = {{{axis}}}", f"{index}[1] step = {{{steps}}}"]
    for i, (begin, end) in enumerate(bounds):
        constants += [f"{index}[1] b{i} = {{{begin}}}", f"{index}[1] e{i} = {{{end}}}"]
        operands = ["x", f"b{i}", f"e{i}"]
        if axis is not None:
            operands.append("ax")
        if steps is not None:
            operands += ["step"] if axis is not None else ["", "step"]
        lines.append(f"y{i} = Slice({', '.join(operands)})")
    results = [f"{element}[{', '.join(f'D{i}_{k}' for k in range(rank))}] y{i}" for i in range(len(bounds))]
    kept = ", ".join(c for c in constants if "None" not in c)
    body = "\n".join([*lines, extra])
    return model_of(f"agraph ({x} x{inputs}) => ({', '.join(results)}{outputs}) <{kept}> {{\n{body}\n}}")


@pytest.mark.parametrize(
    ("bounds", "sizes"),
    [
        ([(0, 3), (3, 6)], [3, 3]),
        ([(0, 1), (1, 3), (3, 6)], [1, 2, 3]),
        ([(3, 6), (0, 3)], [3, 3]),
        ([(0, 4), (4, LARGEST)], [4, 2]),
        ([(-100, -2), (-2, 2**31 - 1)], [4, 2]),
    ],
)
def test_slices_that_tile_the_axis_in_any_order(bounds: Bounds, sizes: list[int]) -> None:
    done = check_pattern(slices(bounds), SlicesSplitPattern, times=1)
    assert op_names(done) == ["Split"]
    split = only(done, onnx.SplitOp)
    assert array_of(split.split).tolist() == sizes
    assert int_attr(split, "axis") == 1


def test_a_negative_axis() -> None:
    split = only(check_pattern(slices([(0, 2), (2, 6)], axis=-1), SlicesSplitPattern), onnx.SplitOp)
    assert int_attr(split, "axis") == 1


def test_axes_left_out_are_the_first() -> None:
    model = slices([(0, 1), (1, 2)], axis=None)
    split = only(check_pattern(model, SlicesSplitPattern), onnx.SplitOp)
    assert int_attr(split, "axis") == 0


def test_steps_of_one_and_indices_of_i32() -> None:
    model = slices([(0, 2), (2, 6)], steps=1, index="int32")
    assert op_names(check_pattern(model, SlicesSplitPattern)) == ["Split"]


def test_unknown_dims_on_other_axes_and_other_element_types() -> None:
    model = slices([(0, 2), (2, 6)], x="int8[N, 6]")
    assert op_names(check_pattern(model, SlicesSplitPattern)) == ["Split"]


def test_other_readers_of_the_value_stay() -> None:
    model = slices([(0, 2), (2, 6)], extra="w = Exp(x)", outputs=", float[2, 6] w")
    assert sorted(op_names(check_pattern(model, SlicesSplitPattern))) == ["Exp", "Split"]


def test_readers_between_the_slices_get_their_part() -> None:
    model = slices([(0, 3), (3, 6)])
    model.graph.node.insert(1, standard.helper.make_node("Exp", ["y0"], ["w"]))
    model.graph.output.append(standard.helper.make_tensor_value_info("w", 1, [2, 3]))
    assert op_names(check_pattern(model, SlicesSplitPattern)) == ["Split", "Exp"]


def test_slices_along_another_axis_do_not_matter() -> None:
    model = slices([(0, 2), (2, 6)], extra="w = Slice(x, b0, one, zero)", outputs=", float[1, 6] w")
    for name, value in (("one", 1), ("zero", 0)):
        model.graph.initializer.append(standard.numpy_helper.from_array(np.array([value]), name))
    assert sorted(op_names(check_pattern(model, SlicesSplitPattern))) == ["Slice", "Split"]


def test_a_slice_whose_bounds_are_the_sliced_value() -> None:
    model = model_of(
        "agraph (int64[2] x, float[4] v) => (int64[1] a, int64[1] b, float[N] w) "
        "<int64[1] z = {0}, int64[1] o = {1}, int64[1] t = {2}> "
        "{ a = Slice(x, z, o)\nb = Slice(x, o, t)\nw0 = Slice(v, a, b)\nw = Identity(w0) }"
    )
    feeds: Any = {"x": np.array([1, 3]), "v": np.arange(4, dtype="f")}
    assert "Split" in op_names(check_pattern(model, SlicesSplitPattern, feeds))


def test_needs_opset_13() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(slices([(0, 3), (3, 6)]), SlicesSplitPattern, opset=12)


def declined(model: standard.ModelProto) -> str:
    return decline_reason(model, SlicesSplitPattern)


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ([(0, 3), (2, 6)], "gap or overlap"),
        ([(0, 2), (3, 6)], "gap or overlap"),
        ([(1, 3), (3, 6)], "starts at the slice that begins with the axis"),
        ([(0, 3), (0, 3), (3, 6)], "gap or overlap"),
        ([(0, 3), (3, 5)], "reach the end"),
        ([(0, 6)], "one slice takes all"),
        ([(3, 3)], "empty"),
    ],
)
def test_declines_slices_that_do_not_tile_the_axis(bounds: Bounds, reason: str) -> None:
    assert reason in declined(slices(bounds))


def test_only_one_slice_starts_a_match() -> None:
    # The others need not look at their neighbours: many slices take time by their number, not its square.
    bounds = [(i, i + 1) for i in range(5)]
    assert declined(slices(bounds)).count("reach the end") == 1
    assert declined(slices([(0, 3), (2, 6)])).count("starts at the slice") == 1


def test_declines_a_step() -> None:
    assert "step is not 1" in declined(slices([(0, 3), (3, 6)], steps=2))


def test_declines_an_axis_of_unknown_size() -> None:
    assert "size of the axis" in declined(slices([(0, 3), (3, LARGEST)], x="float[2, N]"))


@pytest.mark.parametrize("operand", [1, 2])
def test_declines_computed_bounds(operand: int) -> None:
    model = slices([(0, 3), (3, 6)], inputs=", int64[1] bound")
    model.graph.node[0].input[operand] = "bound"
    assert "not constant" in declined(model)


def test_declines_a_computed_axis() -> None:
    model = slices([(0, 3), (3, 6)], inputs=", int64[1] a")
    for node in model.graph.node:
        node.input[3] = "a"
    assert "axis is not constant" in declined(model)


def test_declines_bounds_of_several_axes() -> None:
    model = model_of(
        "agraph (float[2, 6] x) => (float[1, 3] y) <int64[2] b = {0, 0}, int64[2] e = {1, 3}> "
        "{ y = Slice(x, b, e) }"
    )
    assert "several axes" in declined(model)


def test_declines_an_unknown_rank() -> None:
    model = slices([(0, 3), (3, 6)], inputs=", int64[R] shape")
    model.graph.node.insert(0, standard.helper.make_node("Reshape", ["x", "shape"], ["u"]))
    for node in model.graph.node[1:]:
        node.input[0] = "u"
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    assert "rank is not known" in declined(model)


def test_slices_in_a_branch_are_not_those_outside() -> None:
    model = model_of(
        "agraph (float[2, 6] x, bool c) => (float[2, 3] y, float[2, 3] z) "
        "<int64[1] ax = {1}, int64[1] b = {0}, int64[1] m = {3}, int64[1] e = {6}> "
        "{ y = Slice(x, b, m, ax)\n"
        "z = If(c) <then_branch = t () => (float[2, 3] v) { v = Slice(x, m, e, ax) },"
        " else_branch = f () => (float[2, 3] w) { w = Slice(x, b, m, ax) }> }"
    )
    assert "reach the end" in declined(model)
