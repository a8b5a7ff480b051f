"""ResNet-50 on 8 bits, as QLinear ops."""

from __future__ import annotations

from typing import Any, Final

import onnx

from benchmarks.architectures import resnet50
from benchmarks.architectures.quantizing import Form, quantized

TINY: Final = resnet50.TINY


def build(**sizes: Any) -> onnx.ModelProto:
    """Takes and gives what the float model does."""
    return quantized(resnet50.build(**sizes), Form.QLINEAR)
