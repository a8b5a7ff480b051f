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
    analysis: Analysis | None = None
    total = 0
    for result in op.results:
        element = element_type(result.type)
        if element is None:
            continue
        shape = _static_shape(result)
        if shape is None:
            analysis = _analysis_of(op) if analysis is None else analysis
            facts = analysis.facts(result)
            shape = None if facts is None else numbers(facts.shape)
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
