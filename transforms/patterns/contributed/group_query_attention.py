"""com.microsoft GroupQueryAttention -> RotaryEmbedding, TensorScatter and Attention of the standard

Row b of the batch has `seqlens_k[b] + 1` tokens, the last of which are those of this call: their keys and
values are written behind the tokens before. Token i sees those up to its own position, with a local window
none further back than that. What the results hold beyond the tokens of a row means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op

INT64: Final = 7
"""TensorProto.INT64."""


class ContributedGroupQueryAttentionPattern(ContributedOpPattern):
    op_type = "GroupQueryAttention"
    operands = (
        "query",
        "key",
        "value",
        "past_key",
        "past_value",
        "seqlens_k",
        "total_sequence_length",
        "cos_cache",
        "sin_cache",
        "position_ids",
        "attention_bias",
        "head_sink",
        "k_scale",
        "v_scale",
    )
    attributes: ClassVar[Mapping[str, Any]] = {
        "num_heads": 0,
        "kv_num_heads": 0,
        "do_rotary": 0,
        "rotary_interleaved": 0,
        "local_window_size": -1,
        "scale": None,
        "smooth_softmax": 0,
        "softcap": 0.0,
        "qk_output": 0,
        "causal": 1,
        "sliding_window_cache": 0,
        "kv_cache_bit_width": 0,
    }
    min_opset = 24

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor | None, ...] | Miss:
        if match.attribute("causal") != 1 or match.attribute("sliding_window_cache"):
            return no_match(match.anchor, "it is not causal, or its cache is a window")
        if inputs.k_scale is not None or inputs.v_scale is not None or match.attribute("kv_cache_bit_width"):
            return no_match(match.anchor, "its cache is quantized")
        if match.attribute("do_rotary") and (inputs.cos_cache is None or inputs.sin_cache is None):
            return no_match(match.anchor, "it rotates without caches of cosines and sines")
        parts = self._parts(inputs, match)
        if isinstance(parts, Miss):
            return parts
        query, key, value = parts
        length = op.Shape(query, start=1, end=2)
        rows = op.Reshape(op.Cast(inputs.seqlens_k, to=INT64), [-1])
        starts = op.Max(rows + 1 - length, 0)
        positions = op.Unsqueeze(starts, [1]) + op.Range(0, op.Squeeze(length, [0]), 1)
        heads, shared = match.attribute("num_heads"), match.attribute("kv_num_heads")
        if match.attribute("do_rotary"):
            ids = positions if inputs.position_ids is None else inputs.position_ids
            query, key = (
                op.RotaryEmbedding(
                    x,
                    inputs.cos_cache,
                    inputs.sin_cache,
                    ids,
                    interleaved=match.attribute("rotary_interleaved"),
                    num_heads=count,
                )
                for x, count in ((query, heads), (key, shared))
            )
        size = op.Reshape(op.Cast(inputs.total_sequence_length, to=INT64), [1])
        present_key, present_value = (
            _written(past, _by_head(x, shared), starts, size)
            for past, x in ((inputs.past_key, key), (inputs.past_value, value))
        )
        keys, values, mask = present_key, present_value, self._mask(inputs, match, positions, present_key)
        if inputs.head_sink is not None or match.attribute("smooth_softmax") == 1:
            keys, values, mask = self._with_sink(inputs, match, keys, values, mask)
        y = op.Attention(
            _by_head(query, heads),
            keys,
            values,
            mask,
            scale=match.attribute("scale"),
            softcap=match.attribute("softcap"),
        )
        joined = op.Reshape(op.Transpose(y, perm=[0, 2, 1, 3]), [0, 0, -1])
        return (joined, present_key, present_value)

    def _parts(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor, Tensor] | Miss:
        """Queries, keys and values, each `[batch, length, heads * size]`."""
        if inputs.key is not None and inputs.value is not None:
            return inputs.query, inputs.key, inputs.value
        width = match.graph.dim(match["query"], -1)
        if width is None or width.constant is None:
            return no_match(match.anchor, "the width of packed queries, keys and values is not known")
        heads, shared = match.attribute("num_heads"), match.attribute("kv_num_heads")
        size = width.constant // (heads + 2 * shared)
        q, k, v = op.Split(inputs.query, [heads * size, shared * size, shared * size], axis=-1).results(3)
        return q, k, v

    def _mask(self, inputs: Inputs, match: Match, positions: Tensor, keys: Tensor) -> Tensor:
        """Which keys a token sees, `[batch, 1, queries, keys]`, or what is added to their scores."""
        at = op.Unsqueeze(positions, [1, 3])
        places = op.Range(0, op.Squeeze(op.Shape(keys, start=2, end=3), [0]), 1)
        seen = op.LessOrEqual(places, at)
        window = match.attribute("local_window_size")
        if window > 0:
            seen = op.And(seen, op.Greater(places, at - window))
        if inputs.attention_bias is None:
            return seen
        # A bias that is shorter than the cache says nothing about keys that are not seen.
        missing = op.Shape(keys, start=2, end=3) - op.Shape(inputs.attention_bias, start=3, end=4)
        longer = op.Pad(inputs.attention_bias, op.Concat([0] * 7, op.Max(missing, 0), axis=0))
        return op.Where(seen, longer, float("-inf"))

    def _with_sink(
        self, inputs: Inputs, match: Match, keys: Tensor, values: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """A further key of zeros, which adds the exponential of the sink, or of 0, to the softmax's sum."""
        if inputs.attention_bias is None:
            dtype = match.graph.dtype(match["query"])
            mask = op.Where(mask, np.zeros((), dtype), np.full((), -np.inf, dtype))
        ends = [0, 0, 0, 0, 0, 0, 1, 0]
        longer = op.Pad(mask, [0, 0, 0, 0, 0, 0, 0, 1])
        if inputs.head_sink is not None:
            places = op.Range(0, op.Squeeze(op.Shape(longer, start=3, end=4), [0]), 1)
            is_last = op.Equal(places, op.Shape(mask, start=3, end=4))
            longer = op.Where(is_last, op.Unsqueeze(inputs.head_sink, [0, 2, 3]), longer)
        return op.Pad(keys, ends), op.Pad(values, ends), longer


def _by_head(x: Tensor, heads: int) -> Tensor:
    """`[batch, length, heads * size]` as `[batch, heads, length, size]`."""
    return op.Transpose(op.Reshape(x, [0, 0, heads, -1]), perm=[0, 2, 1, 3])


def _written(past: Tensor | None, fresh: Tensor, starts: Tensor, size: Tensor) -> Tensor:
    """The cache with the fresh rows behind `starts` of the past; at least `size` rows."""
    if past is None:
        return fresh
    missing = op.Max(size - op.Shape(past, start=2, end=3), 0)
    longer = op.Pad(past, op.Concat([0, 0, 0, 0, 0, 0], missing, [0], axis=0))
    return op.TensorScatter(longer, fresh, starts, axis=2)
