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
    key_numbers,
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
    float_operand: ClassVar[str] = "input"
    """An operand of the element type that is computed in."""

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor | None, ...] | Miss:
        width = match.graph.dim(match[self.operands[1]], -1)
        sizes = match.attribute("qkv_hidden_sizes")
        if match.attribute("do_rotary") or match.attribute("past_present_share_buffer"):
            return no_match(match.anchor, "it rotates, or shares a buffer for past and present")
        if sizes is None and (width is None or width.constant is None):
            return no_match(match.anchor, "the width of the weights is not known")
        if sizes is None:
            assert width is not None and width.constant is not None
            sizes = (width.constant // 3,) * 3
        if (
            len(set(sizes)) > 1
            and len(match.anchor.results) > 1
            and match.graph.is_used(match.anchor.results[1])
        ):
            return no_match(match.anchor, "keys and values of different sizes have no common cache")
        projected = self._projected(inputs, match)
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

    def _projected(self, inputs: Inputs, match: Match) -> Tensor:
        """Queries, keys and values beside each other."""
        projected = op.MatMul(inputs.input, inputs.weights)
        return projected if inputs.bias is None else projected + inputs.bias

    def _mask(self, inputs: Inputs, match: Match) -> Tensor | Miss | None:
        """What is added to the scores."""
        added_mask = None
        if inputs.mask_index is not None:
            code = element_code(match, "mask_index")
            past = None if inputs.past is None else op.Squeeze(op.Slice(inputs.past, [0], [1], [0]), [0])
            keys = key_numbers(match, inputs.input, past, code)
            counts = padding_mask(match, "mask_index", inputs.mask_index, "input", keys)
            if isinstance(counts, Miss):
                return counts
            added_mask = added(match, counts, self.float_operand, match.attribute("mask_filter_value"))
        has_bias = "attention_bias" in self.operands
        return join_bias(added_mask, inputs.attention_bias if has_bias else None)
