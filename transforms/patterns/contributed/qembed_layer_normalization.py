"""com.microsoft QEmbedLayerNormalization -> LayerNormalization of the sum of dequantized embeddings

The rows that are looked up are dequantized, not the tables. The mask index is the sum of the mask.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.embed_layer_normalization import mask_index
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op

_TABLES = ("word_embedding", "position_embedding", "segment_embedding", "gamma", "beta")


class ContributedQEmbedLayerNormalizationPattern(ContributedOpPattern):
    op_type = "QEmbedLayerNormalization"
    operands = (
        "input_ids",
        "segment_ids",
        *_TABLES,
        "mask",
        *(f"{name}_scale" for name in _TABLES),
        *(f"{name}_zero_point" for name in _TABLES),
    )
    attributes: ClassVar[Mapping[str, Any]] = {"epsilon": 1e-12}
    min_opset = 18

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor | None, ...]:
        def whole(name: str, levels: Tensor) -> Tensor:
            scale, zero = (getattr(inputs, f"{name}_{part}") for part in ("scale", "zero_point"))
            return op.DequantizeLinear(levels, scale, zero)

        length = op.Shape(inputs.input_ids, start=1, end=2)
        total = whole("word_embedding", op.Gather(inputs.word_embedding, inputs.input_ids))
        positions = op.Slice(inputs.position_embedding, [0], length, [0])
        total = total + whole("position_embedding", positions)
        if inputs.segment_ids is not None and inputs.segment_embedding is not None:
            segments = op.Gather(inputs.segment_embedding, inputs.segment_ids)
            total = total + whole("segment_embedding", segments)
        gamma, beta = (whole(name, getattr(inputs, name)) for name in ("gamma", "beta"))
        normal = op.LayerNormalization(total, gamma, beta, axis=-1, epsilon=match.attribute("epsilon"))
        return (normal, mask_index(inputs))
