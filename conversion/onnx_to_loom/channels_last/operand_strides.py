"""How does an epilogue operand of a channels-last convolution move along the channels of the result?"""

from __future__ import annotations

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import shape_of


def channel_stride(other: SSAValue, channels: int) -> int | None:
    """The stride along the last dim of a result of so many channels (DYNAMIC_INDEX: not known).

    None where it depends on sizes: the operand may turn out to have one channel.
    """
    shape = shape_of(other)
    if not shape or shape[-1] == 1:
        return 0
    return 1 if channels > 1 and shape[-1] == channels else None
