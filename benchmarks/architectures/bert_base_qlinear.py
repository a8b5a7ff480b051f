"""BERT-base on 8 bits, as QLinear ops."""

from __future__ import annotations

from typing import Any, Final

import onnx

from benchmarks.architectures import bert_base
from benchmarks.architectures.quantizing import Form, quantized

TINY: Final = bert_base.TINY


def build(**sizes: Any) -> onnx.ModelProto:
    """Takes and gives what the float model does."""
    return quantized(bert_base.build(**sizes), Form.QLINEAR)
