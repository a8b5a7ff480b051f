"""How do the verifier's messages become one sentence that names op, node, and what was expected?"""

from __future__ import annotations

import re

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx.constraints import AttributeKind

_ARGUMENT = re.compile(r"(operand|result) '(\w+)' (?:expected )?at positions? [\d to]+ does not verify:\n")
_COUNT = re.compile(r"Expected (?:at least |exactly )?\d+ (operand|result|region)s?, (?:but )?got (\d+)")
_MISSING = re.compile(r"property '(\w+)' expected in operation")
_UNKNOWN = re.compile(r"property '(\w+)' is not defined by the operation")


class OnnxVerifyException(VerifyException):
    """An invalid op; the message is one sentence that starts with the op's name."""


def sentence(op: IRDLOperation, message: str) -> str:
    """`onnx.Conv (node "c1"): operand W has type ...; expected ...`."""
    return f"{name_of(op)}: {_problem(op, message)}"


def name_of(op: Operation) -> str:
    """`onnx.Conv (node "c1")`."""
    node = op.attributes.get("onnx_node_name")
    return op.name if node is None else f"{op.name} (node {node})"


def _problem(op: IRDLOperation, message: str) -> str:
    definition = op.get_irdl_definition()
    if (match := _MISSING.search(message)) is not None:
        return f"attribute {match[1]} is missing; expected {_expected(definition, match[1])}"
    if (match := _UNKNOWN.search(message)) is not None:
        known = ", ".join(definition.properties) or "none"
        return f"attribute {match[1]} is not one of this op; expected one of: {known}"
    if (match := _COUNT.search(message)) is not None:
        names = {
            "operand": [name for name, _ in definition.operands],
            "result": [name for name, _ in definition.results],
            "region": [name for name, _ in definition.regions],
        }[match[1]]
        return f"has {match[2]} {match[1]}s; expected {len(names)}: {', '.join(names) or 'none'}"
    if message.startswith(AttributeKind.PROBLEM):
        return message.replace(AttributeKind.PROBLEM, f"attribute {_wrong_attribute(op)} is", 1)
    text = _ARGUMENT.sub(r"\1 \2 ", message).replace("\n", " ").strip()
    return text[:1].lower() + text[1:]


def _expected(definition: OpDef, name: str) -> str:
    kind = definition.properties[name].constr
    return kind.expected if isinstance(kind, AttributeKind) else "a value"


def _wrong_attribute(op: IRDLOperation) -> str:
    """The first attribute that is not of its kind: the one the verifier stopped at."""
    for name, definition in op.get_irdl_definition().properties.items():
        kind = definition.constr
        value = op.properties.get(name)
        if isinstance(kind, AttributeKind) and value is not None and not kind.accepts(value):
            return name
    return "?"
