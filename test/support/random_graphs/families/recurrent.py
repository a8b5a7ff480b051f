"""Recurrent layers: kinds, directions, lengths, initial states, peepholes."""

from __future__ import annotations

import numpy as np

from random_graphs.builder import GraphBuilder, Refused

WEIGHT = 1

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def add_recurrent(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype == np.float32 and a.ndim == 3 and a.size > 0)
    if not np.isfinite(g.array(x)).all():
        raise Refused
    op = g.source.choice(("LSTM", "GRU", "RNN"))
    time, batch, width = g.shape(x)
    direction = g.source.choice(("forward", "reverse", "bidirectional"))
    count, size, gates = 1 + (direction == "bidirectional"), g.source.integer(1, 3), GATES[op]
    dtype = g.dtype(x)
    w = g.random_constant((count, gates * size, width), dtype)
    r = g.random_constant((count, gates * size, size), dtype)
    if not (np.isfinite(g.array(w)).all() and np.isfinite(g.array(r)).all()):
        raise Refused
    bias = g.random_constant((count, 2 * gates * size), dtype) if g.source.chance(60) else ""
    lengths = ""
    if g.source.chance(40):
        counts = [g.source.integer(1, time) for _ in range(batch)]
        lengths = g.constant(np.array(counts, np.int32))
    states = [g.random_constant((count, batch, size), dtype) if g.source.chance(40) else ""]
    if op == "LSTM":
        states.append(g.random_constant((count, batch, size), dtype) if g.source.chance(40) else "")
        states.append(g.random_constant((count, 3 * size), dtype) if g.source.chance(30) else "")
    inputs = [x, w, r, bias, lengths, *states]
    while not inputs[-1]:
        inputs.pop()
    given: dict[str, object] = {"hidden_size": size, "direction": direction}
    if op == "GRU" and g.source.chance(50):
        given["linear_before_reset"] = 1
    if op != "RNN" and g.source.chance(20):
        given["clip"] = 1.5
    g.add(op, inputs, outputs=3 if op == "LSTM" else 2, **given)
