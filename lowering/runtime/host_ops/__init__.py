"""How is one ONNX node evaluated in Python?

Through a function of the user's, if one was registered for the op; else through `onnx.reference`, unless
a module of `replacements/` has something more faithful to the standard, or very much faster, under the
op's name. Nodes are of the newest opset: the reference implementation ignores versions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from onnxloom.dialects.custom_ops import custom_op
from onnxloom.lowering.plan.program import HostNode
from onnxloom.lowering.runtime.host_ops.registry import Attributes, is_plain, replacement

__all__ = ["Values", "can_evaluate", "evaluate", "is_plain", "plain_function", "prepare"]

Values: TypeAlias = dict[str, Any]
"""Name -> array or host object; the name "" is an omitted optional value, None."""


def prepare(node: HostNode) -> Callable[[Values], None]:
    """A function that reads a node's inputs from a name table and adds its outputs."""
    import onnx

    proto = onnx.NodeProto.FromString(node.proto)
    own = custom_op(node.domain, node.op)
    if own is not None:
        from onnxloom.lowering.runtime.host_ops.custom import custom_evaluator

        return custom_evaluator(own, proto)
    function = replacement(proto.domain, proto.op_type)
    if function is None:
        from onnxloom.lowering.runtime.host_ops.reference import reference_evaluator

        return reference_evaluator(proto)
    attributes = Attributes.of(proto)
    inputs, outputs = list(proto.input), list(proto.output)

    def run(values: Values) -> None:
        args = [values[name] for name in inputs]
        results = function(attributes, *args)
        for name, result in zip(outputs, results, strict=False):
            if name:
                values[name] = result

    return run


def plain_function(node: HostNode) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
    """Outputs for inputs in the node's order, where that is all there is to a node: its op is plain."""
    if not is_plain(node.domain, node.op) or custom_op(node.domain, node.op) is not None:
        return None
    import onnx

    function = replacement(node.domain, node.op)
    if function is None:
        return None
    attributes = Attributes.of(onnx.NodeProto.FromString(node.proto))
    return lambda inputs: function(attributes, *inputs)


def evaluate(node: Any, inputs: list[Any]) -> list[Any]:
    """Outputs of a NodeProto of the newest opset for inputs in the node's order."""
    values: Values = {"": None, **dict(zip(node.input, inputs, strict=True))}
    prepare(HostNode(node.SerializeToString(), node.op_type, node.domain, node.name))(values)
    return [values[name] if name else None for name in node.output]


def can_evaluate(domain: str, op: str) -> bool:
    """Whether anything here can run the op."""
    if custom_op(domain, op) is not None or replacement(domain, op) is not None:
        return True
    from onnxloom.lowering.runtime.host_ops.reference import reference_has

    return reference_has(domain, op)
