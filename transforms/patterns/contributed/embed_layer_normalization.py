"""com.microsoft EmbedLayerNormalization -> LayerNormalization of the sum of embeddings

of words, positions and, where there are segments, segments; the mask index is the sum of the mask.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedEmbedLayerNormalizationPattern(ContributedOpPattern):
    op_type = "EmbedLayerNormalization"
    operands = (
        "input_ids",
        "segment_ids",
        "word_embedding",
        "position_embedding",
        "segment_embedding",
        "gamma",
        "beta",
        "mask",
        "position_ids",
    )
    attributes: ClassVar[Mapping[str, Any]] = {"epsilon": 1e-12}
    min_opset = 18

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor | None, ...]:
        total = op.Gather(inputs.word_embedding, inputs.input_ids) + self._positions(inputs)
        if inputs.segment_ids is not None and inputs.segment_embedding is not None:
            total = total + op.Gather(inputs.segment_embedding, inputs.segment_ids)
        normal = op.LayerNormalization(
            total, inputs.gamma, inputs.beta, axis=-1, epsilon=match.attribute("epsilon")
        )
        return (normal, mask_index(inputs), total)

    def _positions(self, inputs: Inputs) -> Tensor:
        """The embedding of each position: of those given, else of 0, 1, ..."""
        if inputs.position_ids is not None:
            return op.Gather(inputs.position_embedding, inputs.position_ids)
        length = op.Shape(inputs.input_ids, start=1, end=2)
        return op.Slice(inputs.position_embedding, [0], length, [0])


def mask_index(inputs: Inputs) -> Tensor:
    """How many tokens of each row count; 0 without a mask."""
    if inputs.mask is not None:
        return op.ReduceSum(inputs.mask, [1], keepdims=0)
    batch = op.Shape(inputs.input_ids, start=0, end=1)
    return op.Expand(np.zeros(1, np.int32), batch)
