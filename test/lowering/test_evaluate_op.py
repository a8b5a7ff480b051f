"""Folding on the host implementations: what they run, what they do not, and in which types."""

from __future__ import annotations

from typing import Any, cast
from unittest.mock import patch

import ml_dtypes
import numpy as np
import pytest
from single_ops import op_of
from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneType, TensorType, f32
from xdsl.ir import Block, Operation, Region

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import make
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.transforms.folding.evaluator import CannotEvaluate, numpy_ops

TWO = np.array([1.0, 2.0], np.float32)


def refused(op: Operation, inputs: list[Any]) -> str:
    with pytest.raises(CannotEvaluate) as caught:
        HostEvaluator().evaluate(op, inputs)
    return str(caught.value)


def test_runs_what_numpy_does_not():
    result = HostEvaluator().evaluate(op_of(onnx.SinOp, [TWO]), [TWO])[0]
    np.testing.assert_array_equal(result, np.sin(TWO))


def test_numpy_comes_first_unless_told_otherwise():
    op = op_of(onnx.AddOp, [TWO, TWO])
    wrong = np.array([5.0, 5.0], np.float32)
    with patch.dict(cast(Any, numpy_ops()), {onnx.AddOp: lambda op, inputs: [wrong]}):
        assert HostEvaluator().evaluate(op, [TWO, TWO]) == [wrong]
        result = HostEvaluator(native=False).evaluate(op, [TWO, TWO])[0]
    np.testing.assert_array_equal(result, TWO + TWO)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, np.float16])
def test_narrow_floats_round_and_saturate(dtype: Any):
    wide = np.array([1e-9, 1.06, 449.0, 1e30, np.nan, -0.0], np.float32)
    codes = {ml_dtypes.bfloat16: 16, ml_dtypes.float8_e5m2: 19, np.float16: 10}
    op = op_of(onnx.CastOp, [wide], (dtype,), to=codes[dtype], saturate=1)
    narrow = HostEvaluator().evaluate(op, [wide])[0]
    assert narrow is not None and narrow.dtype == dtype
    same = wide[1:3].astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(narrow[1:3].astype(np.float32), same)
    assert np.isnan(narrow[4].astype(np.float32)) and np.signbit(narrow[5].astype(np.float32))


def test_results_have_the_types_of_the_op():
    op = op_of(onnx.MeanOp, [TWO, TWO], (np.float64,))
    result = HostEvaluator().evaluate(op, [TWO, TWO])[0]
    assert result is not None and result.dtype == np.float64


def test_strings_stay_strings():
    words = np.array(["a", "b"], object)
    op = op_of(onnx.StringConcatOp, [words, words])
    result = HostEvaluator().evaluate(op, [words, words])[0]
    assert result is not None and result.tolist() == ["aa", "bb"]


def test_results_left_out_are_none():
    values = np.array([2, 1, 2])
    operand = onnx.make_constant(values).output
    types = [TensorType(operand.type.element_type, [2]), NoneType(), NoneType(), NoneType()]  # pyright: ignore
    results = HostEvaluator().evaluate(make(onnx.UniqueOp, [operand], types), [values])
    assert results[0] is not None and results[0].tolist() == [1, 2]
    assert list(results[1:]) == [None, None, None]


def test_an_op_that_is_no_tensor_gives_nothing():
    op = make(onnx.SequenceEmptyOp, [], [onnx.SeqType(TensorType(f32, [DYNAMIC_INDEX]))])
    assert list(HostEvaluator().evaluate(op, [])) == [None]


def test_the_hosts_reason_is_given():
    assert "reshape" in refused(op_of(onnx.ReshapeOp, [TWO, np.array([3])]), [TWO, np.array([3])])


def test_ops_of_others():
    operand = onnx.make_constant(TWO).output
    foreign = onnx.CustomOp.make("my.domain", "MyOp", [operand], [TensorType(f32, [2])], {}, {})
    assert refused(foreign, [TWO]) == "nothing here runs MyOp of domain my.domain"


def test_ops_that_are_no_nodes():
    dim = op_of(onnx.DimOp, [TWO], (np.int64,), axis=5)
    assert refused(dim, [TWO]) == "onnx.Dim is no op of the standard"
    fused = make(onnx.FusedOp, [], [], regions=[Region(Block([make(onnx.YieldOp, [], [])]))])
    assert refused(fused, []) == "onnx.FusedOp is no op of the standard"


def test_values_captured_from_outside():
    outside = onnx.make_constant(TWO)
    branches = [Region(Block([make(onnx.YieldOp, [outside.output], [])])) for _ in range(2)]
    condition = onnx.make_constant(np.array(True))
    op = make(onnx.IfOp, [condition.output], [TensorType(f32, [2])], regions=branches)
    assert refused(op, [np.array(True)]) == "its regions read values from outside"
