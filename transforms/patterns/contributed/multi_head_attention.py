"""com.microsoft MultiHeadAttention -> Attention of the standard

after packed queries, keys and values are taken apart and the bias is added.
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


class ContributedMultiHeadAttentionPattern(ContributedOpPattern):
    op_type = "MultiHeadAttention"
    operands = (
        "query",
        "key",
        "value",
        "bias",
        "key_padding_mask",
        "attention_bias",
        "past_key",
        "past_value",
        "past_sequence_length",
        "cache_indirection",
    )
    attributes: ClassVar[Mapping[str, Any]] = {
        "num_heads": 0,
        "scale": None,
        "unidirectional": 0,
        "mask_filter_value": -10000.0,
    }
    min_opset = 23

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor | None, ...] | Miss:
        if inputs.cache_indirection is not None or inputs.past_sequence_length is not None:
            return no_match(match.anchor, "it shares a buffer for past and present, or searches by beams")
        parts = self._parts(inputs, match)
        if isinstance(parts, Miss):
            return parts
        query, key, value = parts
        mask = self._mask(inputs, match, key)
        if isinstance(mask, Miss):
            return mask
        heads = match.attribute("num_heads")
        attention = op.Attention(
            query,
            key,
            value,
            mask,
            inputs.past_key,
            inputs.past_value,
            is_causal=int(bool(match.attribute("unidirectional"))),
            q_num_heads=heads,
            kv_num_heads=heads,
            scale=match.attribute("scale"),
        )
        return attention.results(3)

    def _parts(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor, Tensor] | Miss:
        """Queries, keys and values as `[batch, length, heads * size]`, with their bias."""
        ranks = [match.graph.rank(match[n]) if match.has(n) else None for n in ("query", "key", "value")]
        query, key, value = inputs.query, inputs.key, inputs.value
        if ranks == [5, None, None]:
            query, key, value = _unpacked(query, 3)
        elif ranks == [3, 5, None]:
            key, value = _unpacked(key, 2)
        elif ranks == [3, 4, 4] and inputs.bias is None:
            key, value = (op.Reshape(op.Transpose(x, perm=[0, 2, 1, 3]), _ROWS) for x in (key, value))
        elif ranks != [3, 3, 3]:
            return no_match(
                match.anchor, f"queries, keys and values of ranks {ranks} have no form known here"
            )
        if inputs.bias is None:
            return query, key, value
        sizes = self._sizes(match, ranks)
        if isinstance(sizes, Miss):
            return sizes
        biases = op.Split(inputs.bias, sizes, axis=0).results(3)
        return query + biases[0], key + biases[1], value + biases[2]

    def _sizes(self, match: Match, ranks: list[int | None]) -> list[int] | Miss:
        """Elements of the bias that belong to queries, keys and values."""
        whole = match.graph.dim(match["bias"], 0)
        if whole is None or whole.constant is None:
            return no_match(match.anchor, "the length of the bias is not known")
        if ranks != [3, 3, 3]:
            return [whole.constant // 3] * 3
        dims = [match.graph.dim(match[n], -1) for n in ("query", "value")]
        known = [None if dim is None else dim.constant for dim in dims]
        if known[0] is not None:
            return [known[0], known[0], whole.constant - 2 * known[0]]
        if known[1] is not None:
            size = (whole.constant - known[1]) // 2
            return [size, size, known[1]]
        return no_match(match.anchor, "the widths of queries and values are not known")

    def _mask(self, inputs: Inputs, match: Match, key: Tensor) -> Tensor | Miss | None:
        """What is added to the scores."""
        added_mask = None
        if inputs.key_padding_mask is not None:
            if inputs.past_key is not None and match.graph.rank(match["key_padding_mask"]) == 1:
                return no_match(match.anchor, "it has lengths of rows besides past keys")
            length = op.Squeeze(op.Shape(key, start=1, end=2), [0])
            keys = op.Cast(op.Range(0, length, 1), to=element_code(match, "key_padding_mask"))
            counts = padding_mask(match, "key_padding_mask", inputs.key_padding_mask, "query", keys)
            if isinstance(counts, Miss):
                return counts
            added_mask = added(match, counts, "query", match.attribute("mask_filter_value"))
        return join_bias(added_mask, inputs.attention_bias)


_ROWS = [0, 0, -1]
"""A Reshape that joins all dims after the second."""


def _unpacked(packed: Tensor, count: int) -> tuple[Tensor, ...]:
    """`[batch, length, heads, count, size]` as `count` of `[batch, length, heads * size]`."""
    parts = op.Split(packed, axis=3, num_outputs=count).results(count)
    return tuple(op.Reshape(part, _ROWS) for part in parts)
