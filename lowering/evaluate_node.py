"""How is one op of the onnx dialect, without regions that are walked, run on the host implementations?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_export.node import op_to_node
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.captures import captured_values
from onnxloom.errors import ModelError, OnnxloomError, UnsupportedOpError
from onnxloom.lowering.plan.program import HostNode, is_array
from onnxloom.transforms.describe import describe

Run = Callable[[dict[str, Any]], None]


class NodeEvaluator:
    """Evaluates ops; keeps what was prepared per op, so that a loop's body is prepared once."""

    def __init__(self) -> None:
        self._prepared: dict[Operation, tuple[dict[SSAValue, str], list[str], Run]] = {}

    def evaluate(self, op: Operation, values: Mapping[SSAValue, Any]) -> list[Any]:
        """Results of an op, None for those left out; `values` holds its operands and what it captures.

        Raises:
            ModelError: the op cannot be evaluated on these values, or by nothing here.
        """
        found = self._prepared.get(op)
        if found is None:
            found = self._prepared[op] = _prepare(op)
        names, outputs, run = found
        table: dict[str, Any] = {"": None, **{name: _guarded(values[v]) for v, name in names.items()}}
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _call(run, table)
        except (OnnxloomError, MemoryError):
            raise
        except Exception as error:
            shapes = ", ".join(_described(values[value]) for value in op.operands)
            reason = (str(error).splitlines() or [""])[0] or type(error).__name__
            raise ModelError(f"{describe(op)} cannot be evaluated on ({shapes}): {reason}") from error
        return [_array(table.get(name)) if name else None for name in outputs]


def _prepare(op: Operation) -> tuple[dict[SSAValue, str], list[str], Run]:
    from onnxloom.lowering.runtime.host_ops import can_evaluate, prepare

    values = dict.fromkeys((*op.operands, *captured_values(op)))
    names = {value: f"v{index}" for index, value in enumerate(values) if not is_none(value)}
    inputs = [names.get(value, "") for value in op.operands]
    outputs = ["" if is_none(result) else f"r{index}" for index, result in enumerate(op.results)]
    node = op_to_node(op, inputs, outputs, captured=names)
    if not can_evaluate(node.domain, node.op_type):
        raise UnsupportedOpError(
            f"{describe(op)}: nothing here runs {node.op_type} of {node.domain or 'ai.onnx'}"
        )
    return names, outputs, prepare(HostNode(node.SerializeToString(), node.op_type, node.domain, node.name))


def _call(run: Run, table: dict[str, Any]) -> None:
    """Evaluates a node; one that writes to its inputs is given copies."""
    given = dict(table)
    try:
        run(table)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        table.update((name, value.copy() if is_array(value) else value) for name, value in given.items())
        run(table)


def _guarded(value: Any) -> Any:
    """A view that an op cannot write through."""
    if not is_array(value) or not value.flags.writeable:
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _array(value: Any) -> Any:
    return cast(Any, np.asarray)(value) if isinstance(value, np.generic) else value


def _described(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}" if is_array(value) else type(value).__name__
