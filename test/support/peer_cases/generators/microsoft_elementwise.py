"""Activations, normalizations and embeddings of com.microsoft."""

from __future__ import annotations

import numpy as np

from peer_cases.case import Case
from peer_cases.draw import Draw
from peer_cases.registry import Limit, cases_of

# Polynomials of onnxruntime for erf and exp are good to some units in the last place.
ACTIVATION = Limit(relative=2e-6)


@cases_of("Gelu", limit=ACTIVATION, reason="erf of two polynomials")
def gelu(draw: Draw) -> Case:
    return Case([draw.special(draw.normal(*draw.shape(0), scale=3))], is_dynamic=draw.often())


@cases_of("BiasGelu", limit=ACTIVATION, reason="erf of two polynomials")
def bias_gelu(draw: Draw) -> Case:
    x = draw.special(draw.normal(*draw.shape(1), scale=3))
    return Case([x, draw.normal(x.shape[-1])], constant=[1] * draw.often(), is_dynamic=draw.often())


@cases_of("FastGelu", limit=ACTIVATION, reason="tanh of two polynomials")
def fast_gelu(draw: Draw) -> Case:
    x = draw.special(draw.normal(*draw.shape(1), scale=3))
    inputs = [x, draw.normal(x.shape[-1])] if draw.often() else [x]
    return Case(inputs, is_dynamic=draw.often())


@cases_of("QuickGelu", limit=ACTIVATION, reason="exp of two polynomials")
def quick_gelu(draw: Draw) -> Case:
    x = draw.special(draw.normal(*draw.shape(1), scale=3))
    return Case([x], draw.some({"alpha": draw.number(-2, 2)}), is_dynamic=draw.often())


@cases_of("SkipLayerNormalization", reason="the variance cancels")
def skip_layer_normalization(draw: Draw) -> Case:
    dtype = draw.one_of(np.float32, np.float32, np.float16)
    batch, length, hidden = draw.dim(), draw.dim(), draw.size(1, 40)
    shape = draw.one_of([batch, length, hidden], [batch * length, hidden])
    skip = draw.one_of(shape, shape, [1, *shape[1:]], shape[1:]) if len(shape) == 3 else shape
    parts = [draw.normal(hidden, dtype=dtype) for _ in range(3)]
    inputs = [
        draw.normal(*shape, dtype=dtype), draw.normal(*skip, dtype=dtype), parts[0],
        draw.maybe(parts[1]), draw.maybe(parts[2]),
    ]  # fmt: skip
    outputs = [True, False, False, draw.often()]
    given = {"epsilon": draw.one_of(1e-5, 1e-3)}
    return Case(inputs, given, outputs, constant=[2, 3, 4] * draw.often(), is_dynamic=draw.often(0.3))


@cases_of("SkipSimplifiedLayerNormalization")
def skip_simplified_layer_normalization(draw: Draw) -> Case:
    dtype = draw.one_of(np.float32, np.float32, np.float16)
    batch, length, hidden = draw.dim(), draw.dim(), draw.size(1, 40)
    shape = draw.one_of([batch, length, hidden], [batch * length, hidden])
    skip = draw.one_of(shape, shape, [1, *shape[1:]], shape[1:]) if len(shape) == 3 else shape
    gamma, bias = draw.normal(hidden, dtype=dtype), draw.normal(hidden, dtype=dtype)
    inputs = [draw.normal(*shape, dtype=dtype), draw.normal(*skip, dtype=dtype), gamma, draw.maybe(bias)]
    outputs = [True, False, False, draw.often()]
    given = {"epsilon": draw.one_of(1e-5, 1e-3)}
    return Case(inputs, given, outputs, constant=[2, 3] * draw.often(), is_dynamic=draw.often(0.3))


@cases_of("EmbedLayerNormalization", reason="the variance cancels")
def embed_layer_normalization(draw: Draw) -> Case:
    batch, length, hidden = draw.size(1, 4), draw.size(1, 6), draw.size(2, 20)
    words, positions = draw.size(1, 20), length + draw.size(0, 4)
    has_segments = draw.often()
    ids = draw.below(words, batch, length, dtype=np.int32)
    segments = draw.below(2, batch, length, dtype=np.int32) if has_segments else None
    where = draw.below(positions, draw.one_of(1, batch), length, dtype=np.int32)
    mask = draw.bools(batch, length, dtype=np.int32)
    # At least one token counts: a row without any reads what is not there in older versions.
    mask[:, 0] = 1
    inputs = [
        ids, segments, draw.normal(words, hidden), draw.normal(positions, hidden),
        draw.normal(2, hidden) if has_segments else None, draw.normal(hidden), draw.normal(hidden),
        draw.maybe(mask), draw.maybe(where),
    ]  # fmt: skip
    attributes = draw.some({"epsilon": 1e-3, "mask_index_type": draw.one_of(0, 1)})
    return Case(
        inputs, attributes, draw.one_of([True, True], [True, False, True], [True, True, True], [True, True]),
        constant=draw.one_of([], [2, 3, 4, 5, 6]), is_dynamic=draw.often(0.3), static=[2, 3, 4],
    )  # fmt: skip


@cases_of("RotaryEmbedding", limit=Limit(relative=1e-6), reason="two products and a sum")
def rotary_embedding(draw: Draw) -> Case:
    dtype = draw.one_of(np.float32, np.float32, np.float16)
    batch, length, heads, half = draw.size(1, 3), draw.size(1, 5), draw.size(1, 3), draw.size(1, 6)
    part = draw.often(0.3)
    size = 2 * half + (2 * draw.size(1, 3) if part else 0)
    rows = length + draw.size(0, 4)
    shape = draw.one_of([batch, length, heads * size], [batch, heads, length, size])
    cos, sin = (draw.uniform(-1, 1, rows, half, dtype=dtype) for _ in range(2))
    ids = draw.one_of(draw.below(rows, batch, length), np.array([draw.size(0, rows - length)], np.int64))
    attributes = {"interleaved": draw.one_of(0, 1)}
    if part:
        attributes |= {"rotary_embedding_dim": 2 * half, "num_heads": heads}
    elif draw.often():
        attributes["num_heads"] = heads
    attributes |= draw.some({"scale": draw.one_of(1.0, 0.5)}, 0.2)
    return Case(
        [draw.normal(*shape, dtype=dtype), ids, cos, sin], attributes,
        constant=[2, 3] * draw.often(), is_dynamic=draw.often(0.3), static=[2, 3],
    )  # fmt: skip
