"""Transforms, window functions, sums along an axis, contractions and losses."""

from __future__ import annotations

import numpy as np

from random_graphs.builder import GraphBuilder, Refused

WEIGHT = 1

F32 = np.dtype(np.float32)


def _finite(g: GraphBuilder, low: int, high: int) -> str:
    x = g.pick(lambda a: a.dtype == F32 and low <= a.ndim <= high and a.size > 0)
    if not np.isfinite(g.array(x)).all() or np.abs(g.array(x)).max() > 1e6:
        raise Refused  # sums of other orders overflow elsewhere
    return x


def add_dft(g: GraphBuilder) -> None:
    x = _finite(g, 1, 2)
    shape = (1, *g.shape(x), 1) if g.rank(x) == 1 else (*g.shape(x), 1)
    signal = g.one("Reshape", x, g.ints(*shape))
    length = g.constant(np.array(g.source.integer(1, 6), np.int64)) if g.source.chance(40) else ""
    axis = g.constant(np.array(1, np.int64))
    kind = g.source.choice(({}, {"inverse": 1}, {"onesided": 1}))
    g.one("DFT", signal, length, axis, **kind)


def add_stft(g: GraphBuilder) -> None:
    rng = np.random.default_rng(g.source.integer(0, 2**32 - 1))
    signal = g.constant(rng.uniform(-1, 1, (1, 24, 1)).astype(np.float32))
    factor = g.pick(lambda a: a.dtype == F32 and a.ndim == 0)
    if not np.isfinite(g.array(factor)).all():
        raise Refused
    scaled = g.one("Mul", signal, factor)
    step = g.constant(np.array(g.source.integer(3, 8), np.int64))
    if g.source.chance(50):
        window = g.constant(np.hanning(8).astype(np.float32))
        g.one("STFT", scaled, step, window, onesided=g.source.integer(0, 1))
    else:
        g.one("STFT", scaled, step, "", g.constant(np.array(8, np.int64)), onesided=g.source.integer(0, 1))


def add_window(g: GraphBuilder) -> None:
    op = g.source.choice(("HannWindow", "HammingWindow", "BlackmanWindow"))
    size = g.constant(np.array(g.source.integer(2, 9), np.int64))
    window = g.one(op, size, periodic=g.source.integer(0, 1))
    g.one("Mul", window, g.pick(lambda a: a.dtype == F32 and a.ndim == 0))


def add_det(g: GraphBuilder) -> None:
    size = g.source.integer(1, 3)
    factor = g.pick(lambda a: a.dtype == F32 and a.ndim == 0)
    if not np.isfinite(g.array(factor)).all():
        raise Refused
    g.one("Det", g.one("Mul", g.random_constant((2, size, size), F32), factor))


def add_cum_prod(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype in (np.float32, np.int64) and 0 < a.ndim < 4)
    axis = g.constant(np.array(g.axis(x), np.int64))
    g.one("CumProd", x, axis, exclusive=g.source.integer(0, 1), reverse=g.source.integer(0, 1))


def add_einsum(g: GraphBuilder) -> None:
    """Sums, diagonals, transposition, batches and outer products."""
    x = _finite(g, 1, 4)
    letters = "ijkl"[: g.rank(x)]
    one = (
        f"{letters}->{letters[::-1]}",
        f"{letters}->{letters[:1]}",
        f"{letters}->",
        f"...{letters[-1]}->...",
    )
    if g.source.chance(50):
        g.one("Einsum", x, equation=g.source.choice(one))
        return
    last = g.shape(x)[-1]
    y = g.random_constant((last, 2), F32)
    equations = (f"{letters},{letters[-1]}z->{letters[:-1]}z", f"...{letters[-1]},{letters[-1]}z->z...")
    g.one("Einsum", x, y, equation=g.source.choice(equations))


def add_loss(g: GraphBuilder) -> None:
    x = _finite(g, 2, 3)
    shape = (g.shape(x)[0], *g.shape(x)[2:])
    labels = [g.source.integer(0, g.shape(x)[1] - 1) for _ in range(int(np.prod(shape)))]
    target = g.constant(np.array(labels, np.int64).reshape(shape))
    weight = (
        [g.constant(np.linspace(0.5, 1.5, g.shape(x)[1]).astype(np.float32))] if g.source.chance(40) else []
    )
    op = g.source.choice(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"))
    g.one(op, x, target, *weight, reduction=g.source.choice(("mean", "sum", "none")))
