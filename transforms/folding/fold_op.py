"""What does one op give for these inputs, or why is it not folded? No IR is changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.traits import Pure

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.annotations import DO_NOT_FOLD, is_kept
from onnxloom.dialects.onnx.dtypes import element_of_dtype
from onnxloom.dialects.onnx.narrow import is_ranked, is_tensor
from onnxloom.errors import ModelError
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.folding.evaluator import CannotEvaluate, Evaluator, current_evaluator
from onnxloom.transforms.folding.numpy_op import Array, Inputs
from onnxloom.transforms.folding.policy import DEFAULT_POLICY, FoldingPolicy
from onnxloom.transforms.folding.result_size import result_bytes
from onnxloom.transforms.fusion.dequantized import is_held_for_product
from onnxloom.transforms.miss import Miss

_STRUCTURE: Final = (onnx.ConstantOp, onnx.NoValueOp, onnx.ReturnOp, onnx.YieldOp, onnx.EntryPointOp)

_BOUNDED: Final = (
    *(onnx.ReshapeOp, onnx.SqueezeOp, onnx.UnsqueezeOp, onnx.FlattenOp, onnx.SliceOp, onnx.SplitOp),
    *(onnx.NonZeroOp, onnx.CompressOp, onnx.UniqueOp, onnx.NonMaxSuppressionOp),
    *(onnx.StringNormalizerOp, onnx.StringSplitOp, onnx.RegexFullMatchOp),
)
"""The results of these are about as large as their inputs at most, whatever their shapes."""


def fold_op(
    op: Operation, inputs: Inputs, policy: FoldingPolicy = DEFAULT_POLICY, evaluator: Evaluator | None = None
) -> list[Array | None] | Miss:
    """The results of `op` for `inputs`, one per operand; None where one is left out.

    A `Miss` says why the op is not folded.
    """
    refusal = why_not_foldable(op)
    if refusal is not None:
        return refusal
    # An input that is read twice is there once: else a chain of Concat(x, x) would double for ever.
    distinct = dict(zip(op.operands, inputs, strict=True))
    input_bytes = sum(array.nbytes for array in distinct.values() if array is not None)
    expected = result_bytes(op)
    if expected is None and not isinstance(op, _BOUNDED):
        return Miss("nothing tells how large the result will be")
    if expected is not None and policy.is_too_large(expected, input_bytes):
        return Miss(_too_large(expected, input_bytes, policy))
    try:
        results = (evaluator or current_evaluator()).evaluate(op, inputs)
    except CannotEvaluate as error:
        return Miss(f"cannot be evaluated: {error}")
    made = sum(result.nbytes for result in results if result is not None)
    if policy.is_too_large(made, input_bytes):
        return Miss(_too_large(made, input_bytes, policy))
    return _checked(op, results)


def opted_out(op: Operation) -> Miss | None:
    """Whether somebody wants an op to be left alone."""
    if DO_NOT_FOLD in op.attributes:
        return Miss(f"is marked {DO_NOT_FOLD}")
    return Miss("is marked to be kept, or holds what is") if is_kept(op) else None


def why_not_foldable(op: Operation) -> Miss | None:
    """Why an op is never evaluated, whatever its inputs; None when it may be."""
    if isinstance(op, _STRUCTURE) or not op.results:
        return Miss("computes nothing")
    refusal = opted_out(op)
    if refusal is not None:
        return refusal
    if op.regions:
        return Miss("has regions")
    if isinstance(op, onnx.DequantizeLinearOp) and is_held_for_product(op):
        return Miss("a product of integers reads it before it is dequantized")
    if not op.has_trait(Pure):
        return Miss("is random, or has effects that are not known")
    for result in op.results:
        if not is_tensor(result.type) and not is_none(result):
            return Miss(f"gives a {result.type}, which is no tensor")
    return None


def fits(array: Array, value: SSAValue) -> bool:
    """Whether an array is what the type of a value promises."""
    declared = value.type
    try:
        if element_of_dtype(array.dtype) != element_type(declared):
            return False
    except ModelError:
        return False  # an element type the standard does not have
    if not is_ranked(declared):
        return True
    dims = declared.get_shape()
    return len(dims) == array.ndim and all(
        d in (DYNAMIC_INDEX, n) for d, n in zip(dims, array.shape, strict=True)
    )


def _checked(op: Operation, results: Sequence[Array | None]) -> list[Array | None] | Miss:
    if len(results) != len(op.results):
        return Miss(f"evaluation gives {len(results)} results; expected {len(op.results)}")
    for array, value in zip(results, op.results, strict=True):
        if is_none(value) or (array is not None and fits(array, value)):
            continue
        found = "nothing" if array is None else f"{array.dtype}{list(array.shape)}"
        return Miss(f"evaluation gives {found}; expected {value.type}")
    return list(results)


def _too_large(result: int, inputs: int, policy: FoldingPolicy) -> str:
    return f"the result takes {result} bytes, the inputs {inputs}; the limit is {policy.size_limit}"
