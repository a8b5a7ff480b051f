"""Which types do the results of If, Loop, Scan and SequenceMap have?

They follow from what the bodies yield; declared types of such results are often wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from onnx import NodeProto
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, TensorType, i1, i64
from xdsl.ir import Attribute, Region, SSAValue

from onnxloom.conversion.onnx_import.result_types import ResultTypes, merged
from onnxloom.conversion.onnx_import.types import without_shape
from onnxloom.dialects.onnx.types import OptType, SeqType
from onnxloom.errors import ModelError

_SCALAR_INT = TensorType(i64, [])
_SCALAR_BOOL = TensorType(i1, [])
CONTROL_FLOW = ("If", "Loop", "Scan", "SequenceMap")
"""Ops whose results have the types that their bodies give."""


def control_flow_types(
    node: NodeProto,
    operands: Sequence[SSAValue],
    regions: Sequence[Region],
    properties: Mapping[str, Attribute],
    types: ResultTypes,
    title: str,
) -> list[Attribute]:
    """One type per value the bodies give; there may be more than the node names."""
    yielded = [yielded_types(region) for region in regions]
    match node.op_type:
        case "If":
            found = _if_types(yielded, title)
        case "Loop":
            found = _loop_types(yielded[0], len(operands) - 2, regions[0], title)
        case "Scan":
            found = _scan_types(yielded[0], len(operands), properties, title)
        case _:
            found = [SeqType(without_shape(t)) for t in yielded[0]]
    if len(found) < len(node.output):
        raise ModelError(f"{title} has {len(node.output)} outputs, but its graph gives {len(found)}")
    names = [*node.output, *([""] * (len(found) - len(node.output)))]
    return [types.known(name) or t for name, t in zip(names, found, strict=True)]


def body_types(
    node: NodeProto, operands: Sequence[SSAValue], properties: Mapping[str, Attribute]
) -> list[Attribute]:
    """Types of the body's inputs, as far as the op says them; shapes may change from turn to turn."""
    types = [without_shape(operand.type) for operand in operands]
    match node.op_type:
        case "Loop":
            return [_SCALAR_INT, _SCALAR_BOOL, *types[2:]]
        case "Scan":
            return types
        case "SequenceMap":
            return [t.element_type if isinstance(t, SeqType) else t for t in types]
        case _:
            return []


def yielded_types(region: Region) -> list[Attribute]:
    last = region.block.last_op
    return [] if last is None else list(last.operand_types)


def _if_types(yielded: Sequence[Sequence[Attribute]], title: str) -> list[Attribute]:
    one, other = yielded
    if len(one) != len(other):
        raise ModelError(f"{title}: its branches give {len(other)} and {len(one)} outputs; expected as many")
    types: list[Attribute] = []
    for first, second in zip(one, other, strict=True):
        found = merged(first, second) or _as_optional(first, second)
        if found is None:
            raise ModelError(f"{title}: its branches give {second} and {first}; expected one type")
        types.append(found)
    return types


def _as_optional(first: Attribute, second: Attribute) -> Attribute | None:
    """Branches that differ in the shapes inside a sequence or an optional."""
    if isinstance(first, SeqType) and isinstance(second, SeqType):
        inner = merged(first.element_type, second.element_type)
        return None if inner is None else SeqType(inner)
    if isinstance(first, OptType) and isinstance(second, OptType):
        inner = merged(first.element_type, second.element_type)
        return None if inner is None else OptType(inner)
    return None


def _loop_types(yielded: Sequence[Attribute], carried: int, body: Region, title: str) -> list[Attribute]:
    if len(yielded) < carried + 1:
        raise ModelError(f"{title}: its graph gives {len(yielded)} outputs; expected at least {carried + 1}")
    if len(body.block.args) != carried + 2:
        raise ModelError(f"{title}: its graph has {len(body.block.args)} inputs; expected {carried + 2}")
    return [without_shape(t) for t in yielded[1:]]


def _scan_types(
    yielded: Sequence[Attribute], inputs: int, properties: Mapping[str, Attribute], title: str
) -> list[Attribute]:
    count = properties.get("num_scan_inputs")
    scanned = count.value.data if isinstance(count, IntegerAttr) else 0
    states = inputs - scanned
    if scanned < 1 or states < 0 or len(yielded) < states:
        raise ModelError(f"{title} scans {scanned} of {inputs} inputs and gives {len(yielded)} outputs")
    for side, wanted in (("input", scanned), ("output", len(yielded) - states)):
        for name in (f"scan_{side}_axes", f"scan_{side}_directions"):
            given = cast("ArrayAttr[Attribute] | None", properties.get(name))
            if given is not None and len(given) not in (0, wanted):
                raise ModelError(f"{title}: {name} has {len(given)} elements; expected {wanted}")
    return [without_shape(t) for t in yielded]
