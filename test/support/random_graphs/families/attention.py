"""Attention and rotary embeddings, spelled with the ops exporters use."""

from __future__ import annotations

import math

import numpy as np

from random_graphs.builder import GraphBuilder, Refused
from random_graphs.families.idioms import either, scalar

WEIGHT = 1


def add_attention(g: GraphBuilder) -> None:
    """softmax(q k^T * scale + mask) v; the key is transposed by a node, the scale is on either side."""
    q = g.pick(lambda a: a.dtype in (np.float32, np.float16) and 2 <= a.ndim <= 4 and a.size > 0)
    *batch, _, width = g.shape(q)
    length = g.source.integer(1, 4)
    k, v = (g.random_constant((*batch, length, width), g.dtype(q)) for _ in range(2))
    turn = [*range(len(batch)), len(batch) + 1, len(batch)]
    if not all(np.isfinite(g.array(name)).all() for name in (q, k)):
        raise Refused  # a row that sees nothing but infinities gives NaN, and 0 by the op
    key = g.one("Transpose", k, perm=turn)
    scale = 1 / math.sqrt(width)
    if g.source.chance(50):
        scores = g.one("MatMul", q, key)
        scores = (
            either(g, "Mul", scores, scalar(g, q, scale))
            if g.source.chance(50)
            else g.one("Div", scores, scalar(g, q, 1 / scale))
        )
    else:
        scores = g.one("MatMul", either(g, "Mul", q, scalar(g, q, scale)), key)
    if g.source.chance(60):
        scores = _masked(g, scores)
    g.one("MatMul", g.one("Softmax", scores, axis=-1), v)


def _masked(g: GraphBuilder, scores: str) -> str:
    rng = np.random.default_rng(g.source.integer(0, 2**32 - 1))
    allowed = rng.random(g.shape(scores)[-2:]) < 0.7
    allowed[:, 0] = True  # what a row that sees nothing gives is up to the op
    lowest = g.source.choice((-np.inf, -1e4))
    if g.source.chance(50):
        return either(g, "Add", scores, g.constant(np.where(allowed, 0, lowest).astype(g.dtype(scores))))
    return g.one("Where", g.constant(allowed), scores, g.constant(np.array(lowest, g.dtype(scores))))


def add_rotary(g: GraphBuilder) -> None:
    """x * cos + rotate_half(x) * sin."""
    x = g.pick(lambda a: a.dtype == np.float32 and 2 <= a.ndim <= 4 and a.size > 0 and a.shape[-1] % 2 == 0)
    width = g.shape(x)[-1]
    last = g.rank(x) - 1
    axis = g.source.choice((-1, last))
    if g.source.chance(50):
        first, second = g.add("Split", [x], outputs=2, axis=axis, num_outputs=2)
    else:
        first = g.one("Slice", x, g.ints(0), g.ints(width // 2), g.ints(axis))
        second = g.one("Slice", x, g.ints(width // 2), g.ints(2**63 - 1), g.ints(axis))
    negative = g.one("Neg", second)
    parts = [negative, first] if g.source.chance(85) else [first, negative]
    turned = g.one("Concat", *parts, axis=axis)
    cos, sin = (g.random_constant((g.shape(x)[-2], width), g.dtype(x)) for _ in range(2))
    either(g, "Add", either(g, "Mul", x, cos), either(g, "Mul", turned, sin))


def add_attention_op(g: GraphBuilder) -> None:
    """The op of the standard: heads of its own, or fewer for keys and values; a mask; causal or not."""
    q = g.pick(lambda a: a.dtype == np.float32 and a.ndim == 4 and a.size > 0)
    if not np.isfinite(g.array(q)).all():
        raise Refused
    batch, heads, rows, width = g.shape(q)
    fewer = g.source.choice([n for n in range(1, heads + 1) if heads % n == 0])
    length = g.source.integer(1, 4)
    k, v = (g.random_constant((batch, fewer, length, width), g.dtype(q)) for _ in range(2))
    given: dict[str, object] = {"is_causal": 1} if g.source.chance(30) else {}
    if g.source.chance(30):
        given["softcap"] = 2.0
    mask = [g.random_constant((rows, length), g.dtype(q))] if g.source.chance(40) else []
    if any(not np.isfinite(g.array(name)).all() for name in (k, v, *mask)):
        raise Refused
    g.one("Attention", q, k, v, *mask, **given)


def add_rotary_op(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype == np.float32 and a.ndim == 4 and a.size > 0 and a.shape[-1] % 2 == 0)
    batch, _, length, width = g.shape(x)
    cos, sin = (g.random_constant((batch, length, width // 2), g.dtype(x)) for _ in range(2))
    g.one("RotaryEmbedding", x, cos, sin, interleaved=g.source.integer(0, 1))
