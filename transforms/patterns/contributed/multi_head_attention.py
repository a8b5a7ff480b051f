"""com.microsoft MultiHeadAttention -> Attention of the standard

after packed queries, keys and values are taken apart and the bias is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.attention_masks import (
    INT64,
    added,
    element_code,
    join_bias,
    key_numbers,
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
        ranks = [match.graph.rank(match[n]) if match.has(n) else None for n in ("query", "key", "value")]
        parts = self._parts(inputs, match, ranks)
        if isinstance(parts, Miss):
            return parts
        query, key, value = parts
        mask = self._mask(inputs, match, key)
        if isinstance(mask, Miss):
            return mask
        is_causal = bool(match.attribute("unidirectional"))
        if is_causal and not self._is_square(match, ranks):
            is_causal = False
            mask = _triangle(match, query, key, inputs.past_key, mask)
        heads = match.attribute("num_heads")
        attention = op.Attention(
            query,
            key,
            value,
            mask,
            inputs.past_key,
            inputs.past_value,
            is_causal=int(is_causal),
            q_num_heads=heads,
            kv_num_heads=heads,
            scale=match.attribute("scale"),
        )
        return attention.results(3)

    def _is_square(self, match: Match, ranks: list[int | None]) -> bool:
        """Whether there are as many keys as queries, but for those of the past."""
        if ranks[0] == 5:
            return True
        return match.graph.same_dim(match["query"], 1, match["key"], 2 if ranks[1] == 4 else 1)

    def _parts(
        self, inputs: Inputs, match: Match, ranks: list[int | None]
    ) -> tuple[Tensor, Tensor, Tensor] | Miss:
        """Queries, keys and values as `[batch, length, heads * size]`, with their bias."""
        query, key, value = inputs.query, inputs.key, inputs.value
        if ranks == [5, None, None]:
            query, key, value = _unpacked(query, 3)
        elif ranks == [3, 5, None]:
            key, value = _unpacked(key, 2)
        elif ranks == [3, 4, 4]:
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
        if ranks == [3, 4, 4]:
            # Keys and values that come by heads have theirs already.
            return query + biases[0], key, value
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
            code = element_code(match, "key_padding_mask")
            keys = key_numbers(match, key, inputs.past_key, code)
            counts = padding_mask(match, "key_padding_mask", inputs.key_padding_mask, "query", keys)
            if isinstance(counts, Miss):
                return counts
            added_mask = added(match, counts, "query", match.attribute("mask_filter_value"))
        return join_bias(added_mask, inputs.attention_bias)


def _triangle(match: Match, query: Tensor, key: Tensor, past: Tensor | None, mask: Tensor | None) -> Tensor:
    """The mask where a query sees the keys up to its own; the last one sees all, however many there are."""
    length = op.Shape(query, start=1, end=2)
    rows = op.Unsqueeze(op.Range(0, op.Squeeze(length, [0]), 1), [1])
    last_seen = rows if past is None else rows + op.Shape(past, start=2, end=3)
    keys = key_numbers(match, key, past, INT64)
    seen = op.Or(op.LessOrEqual(keys, last_seen), op.Equal(rows, length - 1))
    if mask is None:
        return op.Unsqueeze(seen, [0, 1])
    return op.Where(seen, mask, float("-inf"))


_ROWS = [0, 0, -1]
"""A Reshape that joins all dims after the second."""


def _unpacked(packed: Tensor, count: int) -> tuple[Tensor, ...]:
    """`[batch, length, heads, count, size]` as `count` of `[batch, length, heads * size]`."""
    parts = op.Split(packed, axis=3, num_outputs=count).results(count)
    return tuple(op.Reshape(part, _ROWS) for part in parts)
