"""One op on its own: what it gives, and why it is not folded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from single_ops import op_of
from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneType, TensorType, UnitAttr, f32, i64
from xdsl.ir import Block, Operation, Region

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import make
from onnxloom.dialects.onnx.annotations import DO_NOT_FOLD, KEEP
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.transforms.folding.evaluator import (
    CannotEvaluate,
    NumpyEvaluator,
    current_evaluator,
    use_evaluator,
)
from onnxloom.transforms.folding.fold_op import fold_op
from onnxloom.transforms.folding.policy import FoldingPolicy
from onnxloom.transforms.folding.result_size import result_bytes
from onnxloom.transforms.miss import Miss

Array = np.ndarray[Any, Any]
TWO = np.array([1.0, 2.0], np.float32)


class Gives:
    """An evaluator that gives what it was made with."""

    def __init__(self, *results: Array | None) -> None:
        self.results = results
        self.calls = 0

    def evaluate(self, op: Operation, inputs: Sequence[Array | None]) -> Sequence[Array | None]:
        self.calls += 1
        return self.results


def reason(outcome: object) -> str:
    assert isinstance(outcome, Miss), f"folded to {outcome}"
    return outcome.reason


def test_gives_the_results():
    folded = fold_op(op_of(onnx.AddOp, [TWO, TWO]), [TWO, TWO])
    assert not isinstance(folded, Miss) and folded[0] is not None
    np.testing.assert_array_equal(folded[0], np.array([2, 4], np.float32))


def test_the_evaluator_in_use_computes():
    op = op_of(onnx.SinOp, [TWO])
    assert "numpy has nothing for onnx.Sin" in reason(fold_op(op, [TWO]))
    with use_evaluator(HostEvaluator()):
        assert not isinstance(fold_op(op, [TWO]), Miss)
    assert isinstance(current_evaluator(), NumpyEvaluator)
    assert not isinstance(fold_op(op, [TWO], evaluator=Gives(TWO)), Miss)


@pytest.mark.parametrize(
    ("op", "words"),
    [
        (onnx.make_constant(TWO), "computes nothing"),
        (make(onnx.NoValueOp, [], [NoneType()]), "computes nothing"),
        (make(onnx.ReturnOp, [], []), "computes nothing"),
        (make(onnx.NegOp, [], []), "computes nothing"),
        (op_of(onnx.RandomUniformOp, [], shape=[2]), "is random"),
        (op_of(onnx.BernoulliOp, [TWO]), "is random"),
        (op_of(onnx.MultinomialOp, [TWO]), "is random"),
        (op_of(onnx.DropoutOp, [TWO, None, None], (None, np.bool_)), "is random"),
        (make(onnx.SequenceEmptyOp, [], [onnx.SeqType(TensorType(f32, [2]))]), "which is no tensor"),
    ],
)
def test_ops_that_are_never_folded(op: Operation, words: str):
    evaluator = Gives(TWO)
    assert words in reason(fold_op(op, [TWO] * len(op.operands), evaluator=evaluator))
    assert evaluator.calls == 0


@pytest.mark.parametrize("mark", [DO_NOT_FOLD, KEEP])
def test_marked_ops_are_not_folded(mark: str):
    op = op_of(onnx.NegOp, [TWO])
    op.attributes[mark] = UnitAttr()
    assert "is marked" in reason(fold_op(op, [TWO]))


def test_control_flow_is_not_folded():
    branches = [Region(Block([make(onnx.YieldOp, [], [])])) for _ in range(2)]
    condition = onnx.make_constant(np.array(True))
    op = make(onnx.IfOp, [condition.output], [TensorType(f32, [2])], regions=branches)
    assert "has regions" in reason(fold_op(op, [np.array(True)], evaluator=Gives(TWO)))


def test_a_factor_of_a_product_of_integers_stays_integers():
    bytes_, one = onnx.make_constant(np.ones((2, 2), np.uint8)), onnx.make_constant(np.float32(0.5))
    none = onnx.NoValueOp.make()
    operands = [bytes_.output, one.output, none.results[0]]
    factors = [make(onnx.DequantizeLinearOp, operands, [TensorType(f32, [2, 2])]) for _ in range(2)]
    values = [np.ones((2, 2), np.uint8), np.array(0.5, np.float32), None]
    make(onnx.MatMulOp, [factor.y for factor in factors], [TensorType(f32, [2, 2])])
    assert "a product of integers reads it" in reason(fold_op(factors[0], values, evaluator=Gives(TWO)))


def test_a_large_result_is_not_even_computed():
    shape = np.array([1 << 30])
    op = op_of(onnx.ConstantOfShapeOp, [shape], (np.float32,))
    evaluator = Gives(TWO)
    outcome = fold_op(op, [shape], FoldingPolicy(1 << 20), evaluator)
    assert reason(outcome) == "the result takes 4294967296 bytes, the inputs 8; the limit is 1048576"
    assert evaluator.calls == 0


def test_what_may_be_of_any_size_is_not_computed():
    image = np.ones((1, 1, 2, 2), np.float32)
    inputs = [image, np.zeros((1, 1, 2, 2), np.int64), np.array([1, 1, 4, 4])]
    unpool = op_of(onnx.MaxUnpoolOp, inputs, kernel_shape=[2, 2])
    evaluator = Gives(image)
    assert reason(fold_op(unpool, inputs, evaluator=evaluator)) == (
        "nothing tells how large the result will be"
    )
    assert evaluator.calls == 0
    found = np.zeros((1, 2), np.int64)
    nonzero = op_of(onnx.NonZeroOp, [TWO], (np.int64,))
    assert not isinstance(fold_op(nonzero, [TWO], evaluator=Gives(found)), Miss)


def test_a_result_that_proves_large_is_not_kept():
    op = op_of(onnx.NonZeroOp, [TWO], (np.int64,))
    found = np.zeros((1, 100), np.int64)
    assert "takes 800 bytes" in reason(fold_op(op, [TWO], FoldingPolicy(99), Gives(found)))


def test_an_input_that_is_read_twice_counts_once():
    policy = FoldingPolicy(size_limit=12)
    constant = onnx.make_constant(TWO)
    twice = make(
        onnx.ConcatOp, [constant.output, constant.output], [TensorType(f32, [DYNAMIC_INDEX])], axis=0
    )
    assert "the result takes 16 bytes, the inputs 8" in reason(fold_op(twice, [TWO, TWO], policy))
    assert not isinstance(fold_op(op_of(onnx.ConcatOp, [TWO, TWO], axis=0), [TWO, TWO], policy), Miss)


def test_the_limit_is_for_results_larger_than_the_inputs():
    large = np.zeros(100, np.float32)
    op = op_of(onnx.NegOp, [large])
    assert not isinstance(fold_op(op, [large], FoldingPolicy(size_limit=0)), Miss)
    assert not isinstance(fold_op(op, [large], FoldingPolicy(size_limit=400)), Miss)
    twice = op_of(onnx.TileOp, [large, np.array([2])])
    assert "takes 800 bytes" in reason(fold_op(twice, [large, np.array([2])], FoldingPolicy(799)))
    assert not isinstance(fold_op(twice, [large, np.array([2])], FoldingPolicy(800)), Miss)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.ones(2), "float64[2]"),
        (np.ones(3, np.float32), "float32[3]"),
        (np.ones((2, 1), np.float32), "float32[2, 1]"),
        (np.zeros(2, "M8[s]"), "datetime64[s][2]"),
        (None, "nothing"),
    ],
)
def test_a_result_that_is_not_of_the_declared_type(given: Array | None, words: str):
    op = make(onnx.NegOp, [onnx.make_constant(TWO).output], [TensorType(f32, [2])])
    outcome = fold_op(op, [TWO], evaluator=Gives(given))
    assert reason(outcome) == f"evaluation gives {words}; expected tensor<2xf32>"


def test_a_result_may_be_more_precise_than_its_type():
    op = make(onnx.NegOp, [onnx.make_constant(TWO).output], [TensorType(f32, [DYNAMIC_INDEX])])
    assert not isinstance(fold_op(op, [TWO]), Miss)


def test_too_few_results():
    op = op_of(onnx.SplitOp, [TWO, None], (None, None), axis=0)
    assert "gives 1 results; expected 2" in reason(fold_op(op, [TWO, None], evaluator=Gives(TWO[:1])))


def test_results_that_are_left_out():
    none = make(onnx.NoValueOp, [], [NoneType()]).results[0]
    operand = onnx.make_constant(TWO).output
    op = make(onnx.UniqueOp, [operand], [TensorType(f32, [2]), NoneType(), NoneType(), NoneType()])
    assert none.type == NoneType()
    assert fold_op(op, [TWO], evaluator=Gives(TWO, None, None, None)) == [TWO, None, None, None]


def test_evaluation_that_fails():
    class Fails:
        def evaluate(self, op: Operation, inputs: Any) -> Sequence[Array]:
            raise CannotEvaluate("no time")

    assert reason(fold_op(op_of(onnx.NegOp, [TWO]), [TWO], evaluator=Fails())) == (
        "cannot be evaluated: no time"
    )


def test_sizes_told_before_shapes_were_inferred():
    assert result_bytes(op_of(onnx.TileOp, [TWO, np.array([5])])) == 40
    assert result_bytes(op_of(onnx.RangeOp, [np.array(0), np.array(9), np.array(2)])) == 40
    assert result_bytes(op_of(onnx.NonZeroOp, [TWO], (np.int64,))) is None
    assert result_bytes(op_of(onnx.AddOp, [np.ones(2), np.ones(3)])) is None  # it cannot run
    none = make(onnx.SequenceEmptyOp, [], [onnx.SeqType(TensorType(i64, [2]))])
    assert result_bytes(none) == 0
    typed = make(onnx.NegOp, [onnx.make_constant(TWO).output], [TensorType(f32, [7])])
    assert result_bytes(typed) == 28
    half_typed = make(
        onnx.SplitOp,
        [onnx.make_constant(TWO).output, onnx.make_constant(np.array([1, 1])).output],
        [TensorType(f32, [1]), TensorType(f32, [DYNAMIC_INDEX])],
        axis=0,
    )
    assert result_bytes(half_typed) == 8
