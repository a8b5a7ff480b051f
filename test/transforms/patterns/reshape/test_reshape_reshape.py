"""Two Reshapes in a row: zeros of the second target resolved in front of the first, or a reason why not."""

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
from onnxloom.transforms.patterns.reshape.reshape_reshape import ReshapeReshapePattern


def reshapes(
    x: str,
    first: list[int] | None,
    second: list[int] | None,
    *,
    rank: int | None = None,
    outputs: str = "",
    attributes: str = "",
    inner_attributes: str = "",
    inputs: str = "",
    rest: str = "",
) -> standard.ModelProto:
    """Targets that are None are inputs named `s1` and `s2`."""
    constants = ", ".join(
        f"int64[{len(target)}] s{i} = {{{', '.join(map(str, target))}}}"
        for i, target in ((1, first), (2, second))
        if target is not None
    )
    rank = len(second or ()) if rank is None else rank
    y = ", ".join(f"Y{i}" for i in range(rank))
    body = f"c = Reshape {inner_attributes} (x, s1)\ny = Reshape {attributes} (c, s2)\n{rest}"
    return model_of(
        f"agraph (float[{x}] x{inputs}) => (float[{y}] y{outputs}) "
        + (f"<{constants}> " if constants else "")
        + f"{{{body}}}"
    )


@pytest.mark.parametrize(
    ("x", "first", "second", "target"),
    [
        ("2, 12", [4, 6], [3, 8], [3, 8]),
        ("2, 12", [4, 6], [-1], [-1]),
        ("2, 12", [4, 3, 2], [0, -1], [4, -1]),
        ("2, 12", [4, 3, 2], [0, 0, 2], [4, 3, 2]),
        ("2, 12", [2, -1, 2], [4, 0], [4, 6]),
        ("N, 12", [0, 3, 4], [0, 12], [0, 12]),
        ("N, 12", [0, 3, 4], [0, -1, 2], [0, -1, 2]),
        ("N, 12", [-1, 4], [0, 2, 2], [-1, 2, 2]),
        ("N, M", [0, 0, 1], [0, 0], [0, 0]),
        ("N, 12", [0, 12], [-1], [-1]),
    ],
)
def test_targets_and_their_zeros(x: str, first: list[int], second: list[int], target: list[int]) -> None:
    feeds: Any = [{"x": np.arange(36 if "M" not in x else 6, dtype="f").reshape(3, -1)}] if "N" in x else None
    done = check_pattern(reshapes(x, first, second), ReshapeReshapePattern, feeds, times=1)
    assert op_names(done) == ["Reshape"]
    assert array_of(only(done, onnx.ReshapeOp).shape).tolist() == target


def test_a_computed_target_that_means_every_number_as_it_stands() -> None:
    model = reshapes("2, 12", [4, 6], None, rank=2, attributes="<allowzero = 1>", inputs=", int64[2] s2")
    feeds: Any = {"x": np.arange(24, dtype="f").reshape(2, 12), "s2": np.array([3, 8])}
    done = check_pattern(model, ReshapeReshapePattern, feeds)
    assert int_attr(only(done, onnx.ReshapeOp), "allowzero") == 1


def test_a_literal_zero_stays_one() -> None:
    model = reshapes(
        "0, 12", [3, 0], [0, 5], attributes="<allowzero = 1>", inner_attributes="<allowzero = 1>"
    )
    assert op_names(check_pattern(model, ReshapeReshapePattern)) == ["Reshape"]


def test_a_computed_first_target_does_not_matter() -> None:
    model = reshapes("2, 12", None, [3, 8], inputs=", int64[2] s1")
    feeds: Any = {"x": np.arange(24, dtype="f").reshape(2, 12), "s1": np.array([4, 6])}
    assert op_names(check_pattern(model, ReshapeReshapePattern, feeds)) == ["Reshape"]


def test_a_chain_collapses() -> None:
    model = reshapes("2, 12", [4, 6], [3, 8], outputs=", float[24] w", rest="w = Reshape(y0, s3)")
    model.graph.node[1].output[0] = "y0"
    model.graph.output.pop(0)
    model.graph.initializer.append(standard.numpy_helper.from_array(np.array([24]), "s3"))
    assert op_names(check_pattern(model, ReshapeReshapePattern, times=2)) == ["Reshape"]


def test_empty_tensors_keep_their_shape() -> None:
    model = reshapes("N, 12", [0, 3, 4], [0, 12])
    check_pattern(model, ReshapeReshapePattern, {"x": np.zeros((0, 12), "f")})


def test_declines_an_input_that_is_not_reshaped() -> None:
    model = reshapes("2, 12", [4, 6], [3, 8])
    model.graph.node[0].op_type = "Expand"
    model.graph.initializer[0].CopyFrom(standard.numpy_helper.from_array(np.array([2, 12]), "s1"))
    assert "not reshaped" in decline_reason(model, ReshapeReshapePattern)


@pytest.mark.parametrize(
    ("outputs", "rest"),
    [(", float[4, 6] c", ""), (", float[4, 6] w", "w = Exp(c)")],
    ids=["output", "reader"],
)
def test_declines_an_inner_result_that_is_read_elsewhere(outputs: str, rest: str) -> None:
    model = reshapes("2, 12", [4, 6], [3, 8], outputs=outputs, rest=rest)
    assert "read elsewhere" in decline_reason(model, ReshapeReshapePattern)


def test_declines_a_computed_target() -> None:
    model = reshapes("2, 12", [4, 6], None, rank=2, inputs=", int64[2] s2")
    assert "not constant" in decline_reason(model, ReshapeReshapePattern)


@pytest.mark.parametrize(
    ("x", "first", "second"),
    [
        ("N, 12", [-1, 4], [0, -1]),  # two dims to infer: the one copied and the one that was there
        ("N, M, 6", None, [0, 0, 3]),  # two dims to infer: both copied
        ("N, M, 6", [0, -1, 3], [0, 0, 3]),  # N may be 0: nothing to infer the other one from
    ],
)
def test_declines_zeros_that_cannot_be_resolved(x: str, first: list[int] | None, second: list[int]) -> None:
    model = reshapes(x, first, second, inputs="" if first else ", int64[3] s1")
    assert "not known" in decline_reason(model, ReshapeReshapePattern)
