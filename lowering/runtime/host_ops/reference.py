"""How is a node run by `onnx.reference`?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import numpy as np
import onnx
from onnx import TypeProto, helper
from onnx.reference import ReferenceEvaluator

from onnxloom.dialects.custom_ops import CustomOp, custom_ops
from onnxloom.lowering.plan.program import is_array
from onnxloom.lowering.runtime.host_ops.custom import reference_class

Values = dict[str, Any]


def reference_evaluator(node: onnx.NodeProto) -> Callable[[Values], None]:
    """A function that reads the node's inputs from a name table and adds its outputs."""
    evaluator: ReferenceEvaluator | None = None
    own = tuple(custom_ops().values())
    givers = _type_givers(node)

    def run(values: Values) -> None:
        nonlocal evaluator
        if evaluator is None:
            evaluator = _make(node, values, own)
        names = [str(name) for name in evaluator.output_names if name]
        results = cast("list[Any]", evaluator.run(names, dict(values)))  # pyright: ignore[reportUnknownMemberType]
        for name, result in zip(names, results, strict=True):
            values[name] = _of_type(result, values.get(givers.get(name, "")))

    return run


def _type_givers(node: onnx.NodeProto) -> dict[str, str]:
    """Output -> an input of its type variable. The reference gives some results as it computes them."""
    if not onnx.defs.has(node.op_type, node.domain):
        return {}
    schema: Any = onnx.defs.get_schema(node.op_type, node.domain)
    givers: dict[str, str] = {}
    for name, formal in zip(node.input, schema.inputs, strict=False):
        if name and formal.is_homogeneous:
            givers.setdefault(formal.type_str, name)
    outputs = zip(node.output, schema.outputs, strict=False)
    return {name: givers[formal.type_str] for name, formal in outputs if formal.type_str in givers}


def _of_type(result: Any, giver: Any) -> Any:
    if not (is_array(result) and is_array(giver)) or result.dtype == giver.dtype:
        return result
    strings = {result.dtype.kind, giver.dtype.kind} & set("USO")
    return result if strings else result.astype(giver.dtype)


def _make(node: onnx.NodeProto, values: Values, own: Sequence[CustomOp]) -> ReferenceEvaluator:
    """An evaluator of the node; ops that are functions of their input types are given those types.

    `own` are the ops of the user's that graphs in the node may hold.
    """
    opset = onnx.defs.onnx_opset_version()
    domains = {"": opset, "ai.onnx.ml": _newest("ai.onnx.ml"), node.domain: _newest(node.domain)}
    inputs = [
        helper.make_value_info(name, _type_of(values[name])) for name in dict.fromkeys(node.input) if name
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "host", inputs, outputs)
    domains = {**{op.domain: 1 for op in own}, **domains}
    return ReferenceEvaluator(graph, opsets=domains, new_ops=[reference_class(op) for op in own])


def _newest(domain: str) -> int:
    return onnx.defs.onnx_opset_version() if domain in ("", "ai.onnx") else _newest_other(domain)


@cache
def _newest_other(domain: str) -> int:
    versions = [s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.domain == domain]
    return max(versions, default=1)


def _type_of(value: Any) -> TypeProto:
    if is_array(value):
        kind = np.dtype(object) if value.dtype.kind in "USO" else value.dtype
        return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(kind), value.shape)
    if isinstance(value, list):
        element = _type_of(value[0]) if value else helper.make_tensor_type_proto(1, None)
        return helper.make_sequence_type_proto(element)
    return TypeProto()


def reference_has(domain: str, op: str) -> bool:
    """Whether the installed reference implementation runs the op, or its schema has a body."""
    if not onnx.defs.has(op, domain):
        return False
    schema: Any = onnx.defs.get_schema(op, domain)
    if schema.has_function or schema.has_context_dependent_function:
        return True
    return _implemented(domain, op)


def _implemented(domain: str, op: str) -> bool:
    import importlib

    folders = {"": "ops", "ai.onnx": "ops", "ai.onnx.ml": "ops.aionnxml",
               "ai.onnx.preview.training": "ops.aionnx_preview_training",
               "ai.onnx.preview": "ops.aionnx_preview"}  # fmt: skip
    folder = folders.get(domain)
    if folder is None:
        return False
    try:
        module = importlib.import_module(f"onnx.reference.{folder}._op_list")
    except ImportError:
        return False
    build: Callable[[], dict[str, Any]] = module._build_registered_operators
    return op in build()
