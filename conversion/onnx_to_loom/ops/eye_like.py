"""EyeLike: ones along a diagonal of a matrix as large as another."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr


@lowering(onnx.EyeLikeOp)
def lower_eye_like(op: onnx.EyeLikeOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Only the dims of the operand are read."""
    (data,) = inputs
    assert data is not None
    type_ = ranked(op.output.type, "the result")
    if rank_of(data) != 2:
        raise Declined("EyeLike of anything but a matrix has no kernel")
    rows, columns = builder.dims(data)
    element = buffer_element(type_)
    k = KernelBody("eye", [], [element], 2)
    s, shift = k.scalars, k.index(int_attr(op, "k", 0))
    zero, one = s.const(0, element), s.const(1, element)
    with k.tasks(k.sizes[0]) as i:
        diagonal = k.add(i, shift)
        with k.loop(k.sizes[1], parallel=True) as j:
            k.store(s.select(s.cmp("eq", j, diagonal), one, zero), k.outs[0], k.at(i, k.sizes[1], j))
    return builder.launch(k, [], [builder.empty(type_, [rows, columns])], [rows, columns])
