"""How does a float model become one of 8 bits? As ONNX Runtime's quantizer writes it, on seeded feeds.

Weights are signed and have a scale per channel, activations are unsigned and have one scale.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx

from benchmarks.architectures.feeds import feeds_of

CALIBRATION_RUNS: Final = 2


class Form(Enum):
    """How a quantized model is spelled."""

    QDQ = "QuantizeLinear and DequantizeLinear around float ops"
    QLINEAR = "QLinearConv, QLinearMatMul and others on integers"
    DYNAMIC = "DynamicQuantizeLinear, then MatMulInteger"


class _Feeds:
    """Feeds of consecutive seeds, as the quantizer reads them."""

    def __init__(self, model: onnx.ModelProto):
        self.feeds = iter([feeds_of(model, seed=seed) for seed in range(CALIBRATION_RUNS)])

    def get_next(self) -> Mapping[str, np.ndarray[Any, Any]] | None:
        """The next ones, None behind the last."""
        return next(self.feeds, None)


def quantized(model: onnx.ModelProto, form: Form) -> onnx.ModelProto:
    """The model with its products, convolutions and what lies between them on 8 bits."""
    # Without type stubs.
    quantization: Any = import_module("onnxruntime.quantization")
    shape_inference: Any = import_module("onnxruntime.quantization.shape_inference")
    with tempfile.TemporaryDirectory() as folder:
        source, prepared, target = (str(Path(folder) / f"{name}.onnx") for name in ("a", "b", "c"))
        onnx.save(model, source)  # pyright: ignore[reportUnknownMemberType]
        # Folds BatchNormalization into convolutions, as the quantizer asks for.
        shape_inference.quant_pre_process(source, prepared, skip_symbolic_shape=True)
        if form is Form.DYNAMIC:
            quantization.quantize_dynamic(
                prepared, target, per_channel=True, weight_type=quantization.QuantType.QInt8
            )
        else:
            quantization.quantize_static(
                prepared,
                target,
                _Feeds(model),
                quant_format=quantization.QuantFormat.QDQ
                if form is Form.QDQ
                else quantization.QuantFormat.QOperator,
                per_channel=True,
                activation_type=quantization.QuantType.QUInt8,
                weight_type=quantization.QuantType.QInt8,
            )
        return onnx.load(target)  # pyright: ignore[reportUnknownMemberType]
