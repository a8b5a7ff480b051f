"""Attention of com.microsoft."""

from __future__ import annotations

from typing import Any

import numpy as np

from peer_cases.case import Array, Case
from peer_cases.draw import Draw
from peer_cases.generators.microsoft_quantized import held
from peer_cases.registry import Limit, cases_of

SCORES = Limit(relative=5e-5)
WHY = "sums of products and of exps"


def mask_of(draw: Draw, batch: int, queries: int, keys: int) -> Array | None:
    """A mask of zeros and ones, or lengths; at least one key counts."""
    mask = draw.bools(batch, keys, dtype=np.int32)
    mask[:, 0] = 1
    full = draw.bools(batch, queries, keys, dtype=np.int32)
    full[..., 0] = 1
    return draw.one_of(None, mask, full, draw.below(keys + 1, batch, dtype=np.int32, low=1))


@cases_of("Attention", limit=SCORES, reason=WHY)
def attention(draw: Draw) -> Case:
    batch, length, width = draw.size(1, 3), draw.size(1, 5), draw.size(1, 8)
    heads, size, value_size = draw.size(1, 3), draw.size(1, 5), draw.size(1, 5)
    attributes: dict[str, Any] = {"num_heads": heads}
    has_past = draw.often(0.3)
    past_length = draw.size(1, 4) if has_past else 0
    if draw.often(0.3) and not has_past:
        attributes["qkv_hidden_sizes"] = [heads * size, heads * size, heads * value_size]
    else:
        value_size = size
    attributes |= draw.some(
        {"unidirectional": 1, "scale": draw.number(0.1, 1), "mask_filter_value": -5000.0}, 0.3
    )
    total = length + past_length
    columns = heads * (2 * size + value_size)
    past = draw.normal(2, batch, heads, past_length, size) if has_past else None
    mask = mask_of(draw, batch, length, total)
    is_twice = mask is not None and mask.ndim == 1 and draw.often(0.2)
    if mask is not None and is_twice:
        ends = mask
        starts = np.array([draw.size(0, int(e) - 1) for e in ends], np.int32)
        mask = np.concatenate([ends, starts]).astype(np.int32)
    bias_shape = [draw.one_of(1, batch), draw.one_of(1, heads), length, total]
    inputs = [
        draw.normal(batch, length, width), draw.normal(width, columns), draw.maybe(draw.normal(columns), 0.8),
        mask, past, None if has_past else draw.maybe(draw.normal(*bias_shape), 0.3),
    ]  # fmt: skip
    return Case(inputs, attributes, [True, has_past or draw.often(0.3)], constant=[1, 2] * draw.often(),
                is_dynamic=draw.often(0.2) and not is_twice, static=[1, 5], lengths=[3])  # fmt: skip


@cases_of("MultiHeadAttention", limit=SCORES, reason=WHY)
def multi_head_attention(draw: Draw) -> Case:
    batch, length, keys = draw.size(1, 3), draw.size(1, 5), draw.size(1, 5)
    heads, size, value_size = draw.size(1, 3), draw.size(1, 5), draw.size(1, 5)
    form = draw.one_of("plain", "plain", "cross")  # packed forms have no kernel for processors in onnxruntime
    value_size = size if form == "cross" or draw.often() else value_size
    past_length = 0
    query = draw.normal(batch, length, heads * size)
    key = draw.normal(batch, keys, heads * size)
    value = draw.normal(batch, keys, heads * value_size)
    if form == "cross":
        key, value = draw.normal(batch, heads, keys, size), draw.normal(batch, heads, keys, size)
    past_key = past_value = None
    if form == "plain" and value_size == size and draw.often(0.5):
        past_length = draw.size(1, 4)
        keys = keys if draw.often() else length
        key, value = draw.normal(batch, keys, heads * size), draw.normal(batch, keys, heads * value_size)
        past_key = draw.normal(batch, heads, past_length, size)
        past_value = draw.normal(batch, heads, past_length, value_size)
    total = keys + past_length
    bias = draw.normal(heads * (2 * size + value_size))
    score_bias = draw.normal(draw.one_of(1, batch), draw.one_of(1, heads), length, total)
    attributes: dict[str, Any] = {"num_heads": heads}
    attributes |= draw.some(
        {"unidirectional": 1, "scale": draw.number(0.1, 1), "mask_filter_value": -5000.0}, 0.3
    )
    inputs = [
        query, key, value, draw.maybe(bias, 0.4), mask_of(draw, batch, length, total),
        draw.maybe(score_bias, 0.3), past_key, past_value,
    ]  # fmt: skip
    has_present = past_key is not None or draw.often(0.2)
    return Case(
        inputs,
        attributes,
        [True, has_present, has_present],
        is_dynamic=draw.often(0.2),
        static=[5],
        lengths=[4],
    )


@cases_of("GroupQueryAttention", limit=SCORES, reason=WHY)
def group_query_attention(draw: Draw) -> Case:
    dtype = draw.one_of(np.float32, np.float32, np.float16)
    batch, shared, group, half = draw.size(1, 3), draw.size(1, 2), draw.size(1, 3), draw.size(1, 2)
    heads, size = shared * group, 16 * half
    first = draw.often(0.4)
    length = draw.size(1, 5) if first else draw.one_of(1, 1, draw.size(1, 4))
    if not first and length > 1:
        batch = 1
    past_length = 0 if first else draw.size(1, 6)
    total = length + past_length
    room = draw.one_of(past_length, past_length, total + draw.size(0, 6))
    lens = np.full(batch, total - 1, np.int32)
    if first:
        lens = draw.below(length, batch, dtype=np.int32)
        lens[draw.size(0, batch - 1)] = length - 1
    elif length == 1:
        lens = draw.below(total, batch, dtype=np.int32)
        lens[draw.size(0, batch - 1)] = total - 1
    packed = draw.often(0.3)
    rows = [draw.normal(batch, length, n * size, dtype=dtype) for n in (heads, shared, shared)]
    if packed:
        rows = [np.concatenate(rows, -1)]
    attributes: dict[str, Any] = {"num_heads": heads, "kv_num_heads": shared}
    cos = sin = ids = None
    if draw.often(0.5):
        attributes |= {"do_rotary": 1, "rotary_interleaved": draw.one_of(0, 1)}
        cos, sin = (draw.uniform(-1, 1, total + 4, size // 2, dtype=dtype) for _ in range(2))
        if draw.often(0.2):
            ids = draw.below(total, batch, length)
    attributes |= draw.some(
        {"scale": draw.number(0.1, 1), "softcap": draw.number(5, 20), "local_window_size": draw.size(1, 4),
         "smooth_softmax": 1}, 0.25
    )  # fmt: skip
    past = [draw.normal(batch, shared, room, size, dtype=dtype) for _ in range(2)]
    if room == 0 and draw.often(0.6):
        past = [None, None]
    bias = draw.maybe(
        draw.normal(draw.one_of(1, batch), draw.one_of(1, heads), length, total, dtype=dtype), 0.15
    )
    sink = draw.maybe(draw.normal(heads, dtype=dtype), 0.15)
    if "smooth_softmax" in attributes:
        sink = None
    inputs: list[Any] = [
        *(rows if not packed else [rows[0], None, None]), *past, lens, np.array(total, np.int32), cos, sin,
        ids, bias, sink,
    ]  # fmt: skip
    shown = lens.astype(np.int64) + 1

    def meant(index: int, array: Array) -> Array:
        # Rows of the cache behind a row's own length, and of tokens that are padding, are anything.
        if index > 0:
            known = np.arange(array.shape[2])[:, None] < shown[:, None, None, None]
            return np.where(known, array, 0).astype(array.dtype)
        known = np.arange(array.shape[1])[:, None] < (shown[:, None, None] if first else length)
        return np.where(known, array, 0).astype(array.dtype)

    return Case(inputs, attributes, 3, meant=meant, constant=[7, 8] * draw.often(),
                is_dynamic=draw.often(0.2), static=[7, 8, 10], lengths=[5])  # fmt: skip


@cases_of("QAttention", limit=Limit(relative=2e-4), reason=WHY)
def qattention(draw: Draw) -> Case:
    batch, length, width = draw.size(1, 3), draw.size(1, 5), draw.size(1, 8)
    heads, size = draw.size(1, 3), draw.size(1, 5)
    columns = 3 * heads * size
    has_past = draw.often(0.3)
    past_length = draw.size(1, 4) if has_past else 0
    right = draw.one_of(np.uint8, np.int8)
    per_column = draw.often(0.3)
    scales = [columns] if per_column else draw.one_of([], [1])
    total = length + past_length
    past = draw.normal(2, batch, heads, past_length, size) if has_past else None
    mask = mask_of(draw, batch, length, total)
    inputs: list[Any] = [
        draw.whole(np.uint8, batch, length, width), draw.whole(right, width, columns), draw.normal(columns),
        draw.scale(), draw.uniform(0.005, 0.03, *scales), mask, draw.maybe(draw.whole(np.uint8)),
        draw.maybe(draw.whole(right, *scales)), past,
    ]  # fmt: skip
    attributes: dict[str, Any] = {"num_heads": heads}
    attributes |= draw.some(
        {"unidirectional": 1, "scale": draw.number(0.1, 1), "mask_filter_value": -5000.0}, 0.3
    )
    return Case(inputs, attributes, [True, has_past], constant=held(draw, inputs, 0, 5, 8),
                is_dynamic=draw.often(0.2), static=[1], lengths=[5])  # fmt: skip
