"""The logarithm of a Softmax, or why not."""

from __future__ import annotations

import onnx as standard
import pytest
from rewritten import only, op_names
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.testing import feeds_for
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.log_softmax import LogSoftmaxPattern


def log_of(softmax: str, outputs: str = "", more: str = "", x: str = "2, 3, 4") -> standard.ModelProto:
    return model_of(f"agraph (float[{x}] x) => (float[{x}] y{outputs}) {{ {softmax}\ny = Log(s)\n{more} }}")


@pytest.mark.parametrize(("attributes", "axis"), [("", -1), ("<axis = 1>", 1), ("<axis = -2>", -2)])
def test_becomes_the_op(attributes: str, axis: int) -> None:
    model = log_of(f"s = Softmax {attributes} (x)")
    done = check_pattern(model, LogSoftmaxPattern, feeds_for(model, special=False))
    assert op_names(done) == ["LogSoftmax"]
    assert int_attr(only(done, onnx.LogSoftmaxOp), "axis") == axis


def test_needs_opset_13() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(log_of("s = Softmax(x)"), LogSoftmaxPattern, opset=12)


def test_declines_another_op() -> None:
    assert "not of a Softmax" in decline_reason(log_of("s = Exp(x)"), LogSoftmaxPattern)


def test_declines_a_softmax_that_is_an_output() -> None:
    model = log_of("s = Softmax(x)", ", float[2, 3, 4] s")
    assert "read elsewhere" in decline_reason(model, LogSoftmaxPattern)


def test_declines_a_softmax_with_another_reader() -> None:
    model = log_of("s = Softmax(x)", ", float[2, 3, 4] z", "z = Exp(s)")
    assert "read elsewhere" in decline_reason(model, LogSoftmaxPattern)
