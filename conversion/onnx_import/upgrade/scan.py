"""Scan of opset 8 runs over a batch; from 9 on it does not."""

from __future__ import annotations

from onnx import NodeProto, ValueInfoProto, helper

from onnxloom.conversion.onnx_import.upgrade.registry import (
    Upgrade,
    keep_inputs,
    put,
    take,
    take_ints,
    upgrade,
)


@upgrade("Scan", to=9)
def over_batch(node: NodeProto, context: Upgrade) -> None:
    """An outer Scan over the batch whose body is the Scan over the sequence."""
    if node.input and node.input[0]:
        raise context.unsupported("Scan-8 with sequence_lens is not supported")
    operands = list(node.input[1:])
    inner_inputs = [context.fresh("scan_in") for _ in operands]
    outputs = [name or context.fresh("scan_out") for name in node.output]
    inner_outputs = [context.fresh("scan_out") for _ in outputs]
    inner = NodeProto()
    inner.CopyFrom(node)
    keep_inputs(inner, inner_inputs)
    del inner.output[:]
    inner.output.extend(inner_outputs)
    directions = take_ints(inner, "directions")
    if directions:
        put(inner, "scan_input_directions", directions)
    body = take(node, "body")
    if body is None or len(body.g.input) != len(operands) or len(body.g.output) != len(outputs):
        raise ValueError("the body does not fit the inputs and outputs")
    graph = helper.make_graph(
        [inner],
        "batch",
        [
            _typed(name, info.type.tensor_type.elem_type)
            for name, info in zip(inner_inputs, body.g.input, strict=True)
        ],
        [
            _typed(name, info.type.tensor_type.elem_type)
            for name, info in zip(inner_outputs, body.g.output, strict=True)
        ],
    )
    del node.attribute[:]
    put(node, "body", graph)
    put(node, "num_scan_inputs", len(operands))
    keep_inputs(node, operands)
    del node.output[:]
    node.output.extend(outputs)


def _typed(name: str, element: int) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, element, None)
