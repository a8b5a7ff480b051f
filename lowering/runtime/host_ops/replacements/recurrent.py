"""LSTM, GRU and RNN with all their attributes (the reference lacks directions, lengths and activations)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces
from onnxloom.lowering.runtime.host_ops.replacements.activations import Activation, Array, activations

Cell = Callable[[Array, "list[Array]"], "list[Array]"]
"""(input part of the gates at one time, states) -> states; the first state is the output."""


@replaces("LSTM")
def lstm(
    attributes: Attributes, x: Array, w: Array, r: Array, b: Array | None = None,
    lengths: Array | None = None, h0: Array | None = None, c0: Array | None = None, p: Array | None = None,
) -> Sequence[Any]:  # fmt: skip
    """Y, Y_h, Y_c. Gate order i, o, f, c."""
    hidden = r.shape[-1]

    def cell(d: int, acts: list[Activation]) -> Cell:
        rt = r[d].T
        pi, po, pf = np.split(p[d], 3) if p is not None else (0, 0, 0)
        f, g, h = acts

        def step(gates: Array, states: list[Array]) -> list[Array]:
            old, c = states
            i, o, forget, c_in = np.split(gates + old @ rt, 4, axis=1)
            i = f(_clip(attributes, i + pi * c))
            forget = 1 - i if attributes.get("input_forget", 0) else f(_clip(attributes, forget + pf * c))
            c = forget * c + i * g(_clip(attributes, c_in))
            return [f(_clip(attributes, o + po * c)) * h(c), c]

        return step

    return _run(attributes, 4, ("Sigmoid", "Tanh", "Tanh"), x, w, b, lengths, (h0, c0), hidden, cell)


@replaces("GRU")
def gru(
    attributes: Attributes, x: Array, w: Array, r: Array, b: Array | None = None,
    lengths: Array | None = None, h0: Array | None = None,
) -> Sequence[Any]:  # fmt: skip
    """Y, Y_h. Gate order z, r, h; the hidden gate's recurrent bias stays inside where the op says so."""
    hidden = r.shape[-1]
    linear = bool(attributes.get("linear_before_reset", 0))

    def cell(d: int, acts: list[Activation]) -> Cell:
        rzr, rh = r[d, : 2 * hidden].T, r[d, 2 * hidden :].T
        rb = b[d, 5 * hidden :] if b is not None else np.zeros(hidden, x.dtype)
        f, g = acts

        def step(gates: Array, states: list[Array]) -> list[Array]:
            (old,) = states
            zr = f(_clip(attributes, gates[:, : 2 * hidden] + old @ rzr))
            z, reset = zr[:, :hidden], zr[:, hidden:]
            inner = reset * (old @ rh + rb) if linear else (reset * old) @ rh + rb
            return [(1 - z) * g(_clip(attributes, gates[:, 2 * hidden :] + inner)) + z * old]

        return step

    keep = slice(0, 2 * hidden)  # the third recurrent bias is added by the cell
    return _run(attributes, 3, ("Sigmoid", "Tanh"), x, w, b, lengths, (h0,), hidden, cell, keep)


@replaces("RNN")
def rnn(
    attributes: Attributes, x: Array, w: Array, r: Array, b: Array | None = None,
    lengths: Array | None = None, h0: Array | None = None,
) -> Sequence[Any]:  # fmt: skip
    """Y, Y_h."""

    def cell(d: int, acts: list[Activation]) -> Cell:
        rt = r[d].T
        return lambda gates, states: [acts[0](_clip(attributes, gates + states[0] @ rt))]

    return _run(attributes, 1, ("Tanh",), x, w, b, lengths, (h0,), r.shape[-1], cell)


def _clip(attributes: Attributes, x: Array) -> Array:
    limit = attributes.get("clip")
    return np.clip(x, -limit, limit) if limit else x


def _run(
    attributes: Attributes,
    gates: int,
    defaults: tuple[str, ...],
    x: Array,
    w: Array,
    b: Array | None,
    lengths: Array | None,
    initial: Sequence[Array | None],
    hidden: int,
    cell: Callable[[int, list[Activation]], Cell],
    recurrent_bias: slice = slice(None),
) -> Sequence[Any]:
    """All directions over all time steps. Wb + Rb is added to the input part of the gates beforehand."""
    batch_first = bool(attributes.get("layout", 0))
    x = x.swapaxes(0, 1) if batch_first else x
    directions = w.shape[0]
    time, batch = x.shape[:2]
    names = attributes.get("activations") or list(defaults) * directions
    acts = activations(names, attributes.get("activation_alpha"), attributes.get("activation_beta"))
    y = np.zeros((time, directions, batch, hidden), x.dtype)
    finals: list[list[Array]] = [[] for _ in initial]
    for d in range(directions):
        bias = np.zeros(gates * hidden, x.dtype)
        if b is not None:
            bias = b[d, : gates * hidden].copy()
            bias[recurrent_bias] += b[d, gates * hidden :][recurrent_bias]
        backwards = attributes.get("direction", "forward") == "reverse" or d == 1
        xs = _reverse(x, lengths) if backwards else x
        projected = xs @ w[d].T + bias
        states = [_state(s, d, batch, hidden, batch_first, x.dtype) for s in initial]
        if lengths is not None:  # entries without steps end with 0, as onnxruntime has it
            states = [np.where((lengths > 0)[:, None], s, 0).astype(x.dtype) for s in states]
        step = cell(d, acts[d * len(defaults) : (d + 1) * len(defaults)])
        rows = y[:, d]
        for t in range(time):
            after = step(projected[t], states)
            if lengths is not None:
                alive = (t < lengths)[:, None]
                after = [np.where(alive, a, s) for a, s in zip(after, states, strict=True)]
                rows[t] = np.where(alive, after[0], 0)
            else:
                rows[t] = after[0]
            states = [a.astype(x.dtype, copy=False) for a in after]
        if backwards:
            y[:, d] = _reverse(rows, lengths)
        for kept, state in zip(finals, states, strict=True):
            kept.append(state)
    last = [np.stack(states) for states in finals]
    if batch_first:
        return [y.transpose(2, 0, 1, 3), *(s.swapaxes(0, 1) for s in last)]
    return [y, *last]


def _state(state: Array | None, d: int, batch: int, hidden: int, batch_first: bool, dtype: Any) -> Array:
    if state is None:
        return np.zeros((batch, hidden), dtype)
    return state[:, d] if batch_first else state[d]


def _reverse(x: Array, lengths: Array | None) -> Array:
    """Reversed in time; a batch entry that is shorter is reversed within its length."""
    if lengths is None:
        return x[::-1]
    result = np.zeros_like(x)
    for i, n in enumerate(np.asarray(lengths).tolist()):
        result[:n, i] = x[:n, i][::-1]
    return result
