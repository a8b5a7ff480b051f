"""Every op of the standard with every element type its schema allows, as models of one node with inputs.

The cases are those of the standard's own suite with another type for the op's first type variable.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
from element_values import FLOATS, INTEGERS, TYPES, Array, bits_of, code_of, dtype_of, values
from onnx import helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

SKIPPED_OPS = {
    "Bernoulli": "draws random numbers",
    "RandomNormal": "draws random numbers",
    "RandomNormalLike": "draws random numbers",
    "RandomUniform": "draws random numbers",
    "RandomUniformLike": "draws random numbers",
    "Multinomial": "draws random numbers",
    "ImageDecoder": "reads files",
}


_CO_TYPED = {"RMSNormalization": ("V",), "LinearAttention": ("S",)}
"""Type variables that have the type of the first one in our cases."""
_SAME_WIDTH = {"complex64": "double", "complex128": "complex128", "float4e2m1": "int4"}
"""What a type is reinterpreted as, if not an unsigned integer."""


@dataclass(frozen=True)
class TypedCase:
    """One node of the standard with one element type."""

    op: str
    type_name: str
    origin: str
    """The case of the suite."""
    model: onnx.ModelProto
    inputs: dict[str, Array]

    @property
    def node(self) -> onnx.NodeProto:
        return self.model.graph.node[0]

    @property
    def name(self) -> str:
        return f"{self.op}-{self.type_name}"


@cache
def _suite() -> dict[str, list[Any]]:
    """Op -> cases of one node of that op that have tensors only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    table: dict[str, list[Any]] = {}
    for case in found:
        model = case.model
        if model is None or len(model.graph.node) != 1 or not case.data_sets:
            continue
        node = model.graph.node[0]
        if node.domain not in ("", "ai.onnx") or not onnx.defs.has(node.op_type, ""):
            continue
        if not all(v.type.HasField("tensor_type") for v in (*model.graph.input, *model.graph.output)):
            continue
        if model.opset_import[0].version < _schema(node.op_type).since_version:
            continue
        table.setdefault(node.op_type, []).append(case)
    return table


def _schema(op: str) -> Any:
    return onnx.defs.get_schema(op, "")


def _formal(parameters: Any, position: int) -> Any:
    """The parameter of an operand; the last one stands for all that follow."""
    return parameters[min(position, len(parameters) - 1)]


def _allowed(schema: Any, variable: str) -> list[str]:
    """Element types that a type variable may stand for."""
    for constraint in schema.type_constraints:
        if constraint.type_param_str == variable:
            return [t for t in TYPES if f"tensor({t})" in constraint.allowed_type_strs]
    return []


def typed_cases(per_op: int = 1) -> Iterator[TypedCase]:
    """For each op and type `per_op` cases, all that the suite has at most."""
    for op, cases in sorted(_suite().items()):
        schema = _schema(op)
        if op in SKIPPED_OPS or not (schema.inputs or schema.outputs):
            continue
        variable = _formal(schema.inputs or schema.outputs, 0).type_str
        for type_name in _allowed(schema, variable):
            for case in cases[:per_op]:
                yield typed(op, case, variable, type_name)


def typed(op: str, case: Any, variable: str, type_name: str) -> TypedCase:
    """One case with the type in the place of the variable."""
    schema = _schema(op)
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    node = model.graph.node[0]
    given = _arrays(case)
    variables = {variable, *_CO_TYPED.get(op, ())}
    changed = {
        name
        for names, parameters in ((node.input, schema.inputs), (node.output, schema.outputs))
        for i, name in enumerate(names)
        if name and _formal(parameters, i).type_str in variables
    }
    if op == "BitCast":
        target = _SAME_WIDTH.get(type_name, f"uint{bits_of(type_name)}")
        del node.attribute[:]
        node.attribute.append(helper.make_attribute("to", code_of(target)))
        model.graph.output[0].type.tensor_type.elem_type = code_of(target)
    for value in (*model.graph.input, *model.graph.output):
        if value.name in changed:
            value.type.tensor_type.elem_type = code_of(type_name)
    inputs = {name: retyped(array, type_name) if name in changed else array for name, array in given.items()}
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", onnx.defs.onnx_opset_version()))
    return TypedCase(op, type_name, case.name, model, inputs)


def _arrays(case: Any) -> dict[str, Array]:
    names = [v.name for v in case.model.graph.input]
    arrays = [
        numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else np.asarray(v)
        for v in case.data_sets[0][0]
    ]
    return dict(zip(names, arrays, strict=True))


def retyped(array: Array, type_name: str) -> Array:
    """An array of numbers or strings as another type, values kept as far as the type has them."""
    if type_name == "string":
        flat = [str(v) for v in array.reshape(-1).tolist()]
        made = np.empty(len(flat), object)
        made[:] = flat
        return made.reshape(array.shape)
    if array.dtype.kind in "USO":
        array = np.arange(array.size).reshape(array.shape)
    dtype = dtype_of(type_name)
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64) if array.dtype.kind != "c" else array
        if type_name == "bool":
            return np.asarray(wide != 0) if array.dtype.kind != "c" else np.asarray(array != 0)
        if type_name in INTEGERS:
            limits = _limits(type_name)
            return np.clip(np.rint(wide.real), *limits).astype(np.int64).astype(dtype)
        if bits_of(type_name) < 16 and type_name in FLOATS:
            return wide.real.astype(np.float32).astype(dtype)
        return wide.astype(dtype)


def _limits(type_name: str) -> tuple[float, float]:
    bits = bits_of(type_name)
    if type_name.startswith("u"):
        return 0, float(min(2**bits - 1, 2**53))
    return -float(min(2 ** (bits - 1), 2**53)), float(min(2 ** (bits - 1) - 1, 2**53))


def with_special_values(case: TypedCase, seed: int = 0) -> TypedCase:
    """The same node on other data of the type: random bits, infinities, NaN, denormals, extremes."""
    if case.type_name in ("string", "complex64", "complex128"):
        return case
    schema = _schema(case.op)
    variable = _formal(schema.inputs or schema.outputs, 0).type_str
    inputs = dict(case.inputs)
    for i, name in enumerate(case.node.input):
        if name in inputs and _formal(schema.inputs, i).type_str == variable:
            shape = inputs[name].shape
            inputs[name] = values(case.type_name, int(np.prod(shape)), seed + i).reshape(shape)
    return TypedCase(case.op, case.type_name, case.origin, case.model, inputs)


MOVING = (
    "Transpose", "Reshape", "Concat", "Slice", "Gather", "GatherElements", "GatherND", "Tile", "Expand",
    "Pad", "Flatten", "Squeeze", "Unsqueeze", "Split", "DepthToSpace", "SpaceToDepth", "Trilu", "Compress",
    "ScatterElements", "ScatterND", "Where", "Identity", "ReverseSequence", "TensorScatter", "CenterCropPad",
    "TopK", "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "CumSum", "ReduceSum",
    "ReduceProd", "OneHot",
)  # fmt: skip


def takes_any_value(op: str) -> bool:
    """Whether every value of a type is legal data for an op, and comparable one by one."""
    from onnxloom.dialects import onnx as dialect
    from onnxloom.dialects.onnx.semantics import semantics_table

    op_class = getattr(dialect, f"{op}Op", None)
    return op in MOVING or op_class in semantics_table()
