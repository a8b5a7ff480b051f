"""Which models can be built here without a download? Known architectures with seeded weights, at full size.

Each file has `build(**sizes) -> onnx.ModelProto` and `TINY`, the sizes that tests use. Graphs are spelled as
PyTorch's exporters spell them; weights are drawn so that activations keep their range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

import onnx

NAMES: Final = ("resnet50", "mobilenetv2", "bert_base", "gpt2_decode", "vit_tiny", "lstm")

QUANTIZED: Final = (
    "resnet50_qdq",
    "resnet50_qlinear",
    "bert_base_qdq",
    "bert_base_qlinear",
    "bert_base_dynamic",
)
"""8-bit versions, made with onnxruntime's quantizer."""


def builder(name: str) -> Callable[..., onnx.ModelProto]:
    """`build` of the architecture `name`."""
    return import_module(f"{__name__}.{name}").build


def tiny_sizes(name: str) -> Mapping[str, Any]:
    """Arguments of `build` that make a model of the same structure for tests."""
    return import_module(f"{__name__}.{name}").TINY
