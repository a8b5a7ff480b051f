"""How many bytes will the results of an op take, told before it is evaluated?"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.dialects.onnx.narrow import is_ranked
from onnxloom.transforms.dim_analysis.analysis import Analysis
from onnxloom.transforms.dim_analysis.facts import element_type, numbers


def result_bytes(op: Operation) -> int | None:
    """Bytes of all tensor results; None when a shape cannot be told.

    Types say it once shapes were inferred; before, what the operands' constants say of this one op.
    """
    tensors = [(result, e) for result in op.results if (e := element_type(result.type)) is not None]
    shapes = [_static_shape(result) for result, _ in tensors]
    if None in shapes:
        analysis = _analysis_of(op)
        shapes = [_inferred_shape(result, analysis) for result, _ in tensors]
    total = 0
    for shape, (_, element) in zip(shapes, tensors, strict=True):
        if shape is None:
            return None
        total += nbytes(shape, element)
    return total


def nbytes(shape: tuple[int, ...], element: Attribute) -> int:
    return math.prod(shape) * dtype_of_element(element).itemsize


def _static_shape(value: SSAValue) -> tuple[int, ...] | None:
    if not is_ranked(value.type):
        return None
    shape = value.type.get_shape()
    return None if DYNAMIC_INDEX in shape else shape


def _analysis_of(op: Operation) -> Analysis:
    analysis = Analysis()
    # Impossible inputs: evaluating them says what is wrong.
    analysis.update(op, may_never_run=True)
    return analysis


def _inferred_shape(value: SSAValue, analysis: Analysis) -> tuple[int, ...] | None:
    facts = analysis.facts(value)
    assert facts is not None, "every tensor has facts"
    return numbers(facts.shape)
