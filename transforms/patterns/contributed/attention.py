"""com.microsoft Attention -> MatMul and Attention of the standard

Queries, keys and values are the thirds of input @ weights + bias. A mask of zeros and ones, or one length per
row of the batch, adds `mask_filter_value` to the scores of keys that do not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.attention_masks import (
    added,
    element_code,
    join_bias,
    padding_mask,
)
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedAttentionPattern(ContributedOpPattern):
    op_type = "Attention"
    operands = ("input", "weights", "bias", "mask_index", "past", "attention_bias", "past_sequence_length")
    attributes: ClassVar[Mapping[str, Any]] = {
        "num_heads": 0,
        "unidirectional": 0,
        "qkv_hidden_sizes": None,
        "scale": None,
        "mask_filter_value": -10000.0,
        "do_rotary": 0,
        "rotary_embedding_dim": 0,
        "past_present_share_buffer": 0,
    }
    min_opset = 23

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor | None, ...] | Miss:
        width = match.graph.dim(match["weights"], -1)
        sizes = match.attribute("qkv_hidden_sizes")
        if match.attribute("do_rotary") or match.attribute("past_present_share_buffer"):
            return no_match(match.anchor, "it rotates, or shares a buffer for past and present")
        if sizes is None and (width is None or width.constant is None):
            return no_match(match.anchor, "the width of the weights is not known")
        if sizes is None:
            assert width is not None and width.constant is not None
            sizes = (width.constant // 3,) * 3
        projected = op.MatMul(inputs.input, inputs.weights)
        if inputs.bias is not None:
            projected = projected + inputs.bias
        parts = op.Split(projected, list(sizes), axis=-1).results(3)
        past_key = past_value = None
        if inputs.past is not None:
            halves = op.Split(inputs.past, axis=0, num_outputs=2).results(2)
            past_key, past_value = (op.Squeeze(half, [0]) for half in halves)
        mask = self._mask(inputs, match)
        if isinstance(mask, Miss):
            return mask
        heads = match.attribute("num_heads")
        y, present_key, present_value = op.Attention(
            parts[0],
            parts[1],
            parts[2],
            mask,
            past_key,
            past_value,
            is_causal=int(bool(match.attribute("unidirectional"))),
            q_num_heads=heads,
            kv_num_heads=heads,
            scale=match.attribute("scale"),
        ).results(3)
        present = op.Concat(op.Unsqueeze(present_key, [0]), op.Unsqueeze(present_value, [0]), axis=0)
        return (y, present)

    def _mask(self, inputs: Inputs, match: Match) -> Tensor | Miss | None:
        """What is added to the scores."""
        added_mask = None
        if inputs.mask_index is not None:
            length = op.Squeeze(op.Shape(inputs.input, start=1, end=2), [0])
            keys = op.Cast(op.Range(0, length, 1), to=element_code(match, "mask_index"))
            if inputs.past is not None and match.graph.rank(match["mask_index"]) == 1:
                return no_match(match.anchor, "it has lengths of rows besides past keys")
            counts = padding_mask(match, "mask_index", inputs.mask_index, "input", keys)
            if isinstance(counts, Miss):
                return counts
            added_mask = added(match, counts, "input", match.attribute("mask_filter_value"))
        return join_bias(added_mask, inputs.attention_bias)
