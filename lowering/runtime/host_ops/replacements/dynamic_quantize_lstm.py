"""com.microsoft DynamicQuantizeLSTM: an LSTM with int8 weights whose inputs are quantized on the fly.

Source: the operator's schema in ONNX Runtime's ContribOperators.md. Weights come transposed,
`[directions, input, 4 * hidden]`, with one scale and zero point per direction or per column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces
from onnxloom.lowering.runtime.host_ops.replacements.activations import Activation, Array, activations


@replaces("DynamicQuantizeLSTM", domain="com.microsoft")
def dynamic_quantize_lstm(
    attributes: Attributes, x: Array, w: Array, r: Array, b: Array | None, lengths: Array | None,
    h0: Array | None, c0: Array | None, p: Array | None,
    w_scale: Array, w_zero: Array, r_scale: Array, r_zero: Array,
) -> Sequence[Any]:  # fmt: skip
    """Y, Y_h, Y_c."""
    directions, hidden = w.shape[0], r.shape[1]
    time, batch = x.shape[:2]
    steps = np.arange(time, dtype=np.int64)[:, None]
    ends = np.full(batch, time, np.int64) if lengths is None else lengths.astype(np.int64)
    is_live = (steps < ends)[..., None]
    names = attributes.get("activations") or ["Sigmoid", "Tanh", "Tanh"] * directions
    acts = activations(names, attributes.get("activation_alpha"), attributes.get("activation_beta"))
    y = np.zeros((time, directions, batch, hidden), np.float32)
    h_last: list[Array] = []
    c_last: list[Array] = []
    for d in range(directions):
        backwards = attributes.get("direction", "forward") == "reverse" or d == 1
        # Each sequence is turned round by itself; what is behind its end stays there.
        order = np.where(is_live[..., 0] & backwards, ends - 1 - steps, steps)[..., None]
        xs = np.take_along_axis(x, order, axis=0)
        gates = quantized_matmul(xs.reshape(time * batch, -1), w[d], w_scale[d], w_zero[d])
        gates = gates.reshape(time, batch, 4 * hidden)
        if b is not None:
            gates = gates + (b[d, : 4 * hidden] + b[d, 4 * hidden :])
        h = np.zeros((batch, hidden), np.float32) if h0 is None else h0[d]
        c = np.zeros((batch, hidden), np.float32) if c0 is None else c0[d]
        peepholes = p[d] if p is not None else None
        rows = y[:, d]
        for t in range(time):
            # The state of each batch entry is quantized over a range of its own.
            rows_of_h = [quantized_matmul(h[i : i + 1], r[d], r_scale[d], r_zero[d]) for i in range(batch)]
            step = gates[t] + np.concatenate([np.empty((0, 4 * hidden), np.float32), *rows_of_h])
            next_h, next_c = _cell(attributes, step, c, peepholes, acts[3 * d : 3 * d + 3])
            h, c = np.where(is_live[t], next_h, h), np.where(is_live[t], next_c, c)
            rows[t] = np.where(is_live[t], h, 0)
        y[:, d] = np.take_along_axis(rows, order, axis=0)
        h_last.append(h)
        c_last.append(c)
    return [y, np.stack(h_last), np.stack(c_last)]


def _cell(
    attributes: Attributes, gates: Array, c: Array, p: Array | None, acts: list[Activation]
) -> tuple[Array, Array]:
    limit = attributes.get("clip") or np.inf

    def clipped(activation: Activation, gate: Array) -> Array:
        """The limit is one of what goes into an activation, peepholes included."""
        return activation(np.clip(gate, -limit, limit))

    f, g, h = acts
    i, o, forget, c_in = np.split(gates, 4, axis=1)
    pi, po, pf = np.split(p, 3) if p is not None else (0, 0, 0)
    i = clipped(f, i + pi * c)
    forget = 1 - i if attributes.get("input_forget", 0) else clipped(f, forget + pf * c)
    c = forget * c + i * clipped(g, c_in)
    return clipped(f, o + po * c) * h(c), c


def quantized_matmul(a: Array, b: Array, scale: Array, zero: Array) -> Array:
    """float32 `a` times 8-bit `b`: `a` is quantized to uint8 over its range, the sums are exact."""
    low, high = min(0.0, float(a.min(initial=0))), max(0.0, float(a.max(initial=0)))
    a_scale = np.float32((np.float32(high) - np.float32(low)) / np.float32(255))
    if a_scale == 0:
        return np.zeros((a.shape[0], b.shape[1]), np.float32)
    a_zero = np.float32(np.clip(np.rint(-np.float32(low) / a_scale), 0, 255))
    quantized = np.clip(np.rint(a / a_scale) + a_zero, 0, 255)
    # Sums of fewer than 2**37 products of 8-bit numbers are exact in float64.
    sums = (quantized - a_zero).astype(np.float64) @ (b.astype(np.float64) - zero.astype(np.float64))
    return (sums * (np.float32(a_scale) * scale).astype(np.float32)).astype(np.float32)
