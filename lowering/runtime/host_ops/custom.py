"""How is a node run by a function of the user's?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference.op_run import OpRun

from onnxloom.dialects.custom_ops import CustomOp, ShapeFunction, TensorInfo
from onnxloom.errors import CustomOpError, OnnxloomError
from onnxloom.lowering.plan.program import is_array
from onnxloom.lowering.runtime.host_ops.registry import Attributes


def custom_evaluator(op: CustomOp, node: onnx.NodeProto) -> Callable[[dict[str, Any]], None]:
    """A function that reads the node's inputs from a name table and adds its outputs.

    Functions see arrays that cannot be written to; a Numba function, whose signature may not take such,
    gets copies.
    """
    attributes = attributes_of(node)
    inputs, outputs = list(node.input), list(node.output)
    while inputs and not inputs[-1]:
        inputs.pop()
    shown = np.copy if hasattr(op.function, "py_func") else _guarded

    def run(values: dict[str, Any]) -> None:
        args = [shown(value) if is_array(value) else value for value in (values[name] for name in inputs)]
        for name, result in zip(outputs, call_custom(op, args, attributes, node), strict=False):
            if name:
                values[name] = result

    return run


def call_custom(op: CustomOp, args: list[Any], attributes: Mapping[str, Any], node: Any) -> tuple[Any, ...]:
    """At least as many results as the node lists.

    Raises:
        CustomOpError: the function raises, gives fewer, or others than the shape function says.
    """
    try:
        found = op.function(*args, **attributes)
    except OnnxloomError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise CustomOpError(
            f"{_title(op, node)}: its function raised {type(error).__name__}: {reason}"
        ) from error
    results = cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,)
    wanted = [index for index, name in enumerate(node.output) if name]
    for index in wanted:
        if index >= len(results) or results[index] is None:
            raise CustomOpError(
                f"{_title(op, node)}: its function gave no output {index}; the node lists {len(node.output)}"
            )
    given = tuple(np.asarray(r) if isinstance(r, np.generic | int | float | complex) else r for r in results)
    if op.shape_function is not None:
        _check_told(op, op.shape_function, args, attributes, given, node)
    return given


def _check_told(
    op: CustomOp,
    shape_function: ShapeFunction,
    args: Sequence[Any],
    attributes: Mapping[str, Any],
    results: Sequence[Any],
    node: Any,
) -> None:
    """Kernels rely on what the shape function says, also where it says that two dims are the same."""
    infos = [TensorInfo(a.dtype, a.shape) if is_array(a) else None for a in args]
    try:
        told = shape_function(*infos, **attributes)
        listed = cast("list[Any]", told) if isinstance(told, list) else [told]
        shapes = [None if shape is None else [*shape] for _, shape in listed]
    except Exception as error:
        reason = " ".join(str(error).split())
        raise CustomOpError(
            f"{_title(op, node)}: its shape function raised {type(error).__name__}: {reason}"
        ) from error
    for index, (result, shape, name) in enumerate(zip(results, shapes, node.output, strict=False)):
        if not name:
            continue
        if not is_array(result):
            kind = type(result).__name__
            raise CustomOpError(f"{_title(op, node)}: output {index} is a {kind}; expected an array")
        found = [*result.shape]
        if shape is not None and not _agree(found, shape):
            raise CustomOpError(
                f"{_title(op, node)}: output {index} has shape {found}; its shape function says {shape}"
            )


def _agree(found: Sequence[int], told: Sequence[Any]) -> bool:
    return len(found) == len(told) and all(t is None or f == t for f, t in zip(found, told, strict=True))


def reference_class(op: CustomOp) -> type[OpRun]:
    """The op for `onnx.reference`, which runs the graphs in a node."""

    def run(self: OpRun, *args: Any, **_: Any) -> tuple[Any, ...]:
        return call_custom(op, list(args), attributes_of(self.onnx_node), self.onnx_node)

    return type(op.name, (OpRun,), {"op_domain": op.domain, "_run": run})


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """The attributes as functions of users get them: numbers, texts, tuples of them, and arrays."""
    return {name: _plain(value) for name, value in Attributes.of(node).values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return tuple(_plain(v) for v in value) if isinstance(value, list | tuple) else value  # pyright: ignore[reportUnknownVariableType]


def _guarded(value: Any) -> Any:
    view = value.view()
    view.flags.writeable = False
    return view


def _title(op: CustomOp, node: Any) -> str:
    named = f' "{node.name}"' if node.name else ""
    return f"{op.domain}.{op.name}{named}"
