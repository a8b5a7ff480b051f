"""How does folding evaluate an op? With numpy where it can, else as host steps are: `HostEvaluator`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.custom_ops import RUN_BY_CALLER, custom_op
from onnxloom.dialects.onnx.captures import captured_values
from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.errors import OnnxloomError
from onnxloom.lowering.evaluate_node import NodeEvaluator
from onnxloom.lowering.runtime.host_ops import can_evaluate
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.folding.evaluator import CannotEvaluate, NumpyEvaluator, numpy_ops
from onnxloom.transforms.folding.numpy_op import Array, Inputs


class HostEvaluator:
    """Evaluates every op that can be a host step."""

    def __init__(self, *, native: bool = True) -> None:
        """`native`: whether numpy does the common ops; the results are the same without, and later."""
        self._numpy = NumpyEvaluator() if native else None

    def evaluate(self, op: Operation, inputs: Inputs) -> Sequence[Array | None]:
        """The results of `op`, None for those left out.

        Raises CannotEvaluate.
        """
        if self._numpy is not None and type(op) in numpy_ops():
            try:
                return self._numpy.evaluate(op, inputs)
            except CannotEvaluate:
                pass  # the host has the last word, and its reason is the better one
        _check_known(op)
        values: dict[Any, Any] = dict(zip(op.operands, inputs, strict=True))
        try:
            results = NodeEvaluator().evaluate(op, values)
        except (OnnxloomError, MemoryError) as error:
            raise CannotEvaluate(str(error)) from error
        return [_fit(value, result.type) for value, result in zip(results, op.results, strict=True)]


def _check_known(op: Operation) -> None:
    """Raises CannotEvaluate for what is no node, or one that nothing here can run."""
    if isinstance(op, onnx.CustomOp):
        domain, name = op.domain_name.data, op.function_name.data
    elif isinstance(op, onnx.OnnxOp) and (op.domain, op.onnx_name) in onnx.OPS_BY_NAME:
        domain, name = op.domain, op.onnx_name
    else:
        raise CannotEvaluate(f"{op.name} is no op of the standard")
    if custom_op(domain, name) is not None:
        raise CannotEvaluate(RUN_BY_CALLER)
    if not can_evaluate(domain, name):
        raise CannotEvaluate(f"nothing here runs {name} of domain {domain or 'ai.onnx'}")
    if captured_values(op):
        raise CannotEvaluate("its regions read values from outside")


def _fit(value: Any, result_type: Attribute) -> Array | None:
    """A tensor in the element type of its result."""
    element = element_type(result_type)
    if value is None or element is None:
        return None
    array: Array = np.asarray(value)
    return array.astype(dtype_of_element(element), copy=False)
