"""What is fed to a built architecture? Seeded arrays of its inputs' shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnx

from benchmarks.architectures.gpt2_decode import PAST, TOTAL

TOKENS: Final = 50
"""Ids are below; every vocabulary has as many."""


def feeds_of(model: onnx.ModelProto, past: int = 256, seed: int = 0) -> dict[str, npt.NDArray[Any]]:
    """One array per input; masks show every token, and `past` tokens are in a decoder's cache."""
    rng = np.random.default_rng(seed)
    sizes = {PAST: past, TOTAL: past + 1}
    return {info.name: _array(info, sizes, rng) for info in model.graph.input}


def _array(info: onnx.ValueInfoProto, sizes: Mapping[str, int], rng: np.random.Generator) -> npt.NDArray[Any]:
    dims = info.type.tensor_type.shape.dim
    shape = [sizes[dim.dim_param] if dim.HasField("dim_param") else dim.dim_value for dim in dims]
    if info.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
        return rng.standard_normal(shape, np.float32)
    if info.name == "attention_mask":
        return np.ones(shape, np.int64)
    return rng.integers(0, 2 if info.name == "token_type_ids" else TOKENS, shape)
