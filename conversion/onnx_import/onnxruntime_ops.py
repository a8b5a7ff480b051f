"""Which ops does onnxruntime have in the default domain that the standard does not have in their opset?

Its optimizers write them into models of any opset, and it runs them: LayerNormalization before opset 17, and
RMSNormalization under the name it had before it became part of the standard.
"""

from __future__ import annotations

from onnx import NodeProto

from onnxloom.conversion.onnx_import.upgrade.registry import Upgrade


def standard_op(node: NodeProto, context: Upgrade) -> NodeProto | None:
    """The node as the latest op of the standard, in place; None where it is no op of onnxruntime's either.

    Raises:
        UnsupportedOpError: a result is read that the op of the standard does not have.
    """
    if node.op_type == "LayerNormalization":
        return node
    if node.op_type != "SimplifiedLayerNormalization":
        return None
    if any(name and context.is_read(name) for name in node.output[1:]):
        raise context.unsupported("its inverse deviation is read; expected the normalized tensor alone")
    node.op_type = "RMSNormalization"
    del node.output[1:]
    return node
