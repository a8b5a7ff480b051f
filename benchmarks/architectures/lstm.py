"""A tagger: embedding, two bidirectional LSTM layers, and a linear layer for each token."""

from __future__ import annotations

from typing import Final

import numpy as np
import onnx

from benchmarks.architectures.layers import linear
from benchmarks.architectures.writer import GraphWriter

TINY: Final = {"sequence": 7, "width": 16, "hidden": 12, "vocabulary": 50, "tags": 5}


def build(
    sequence: int = 128,
    width: int = 256,
    hidden: int = 256,
    layers: int = 2,
    vocabulary: int = 10000,
    tags: int = 32,
) -> onnx.ModelProto:
    """Takes `input_ids` [1, sequence], gives `logits` [1, sequence, tags]."""
    w = GraphWriter("lstm", seed=97)
    ids = w.input("input_ids", [1, sequence], np.int64)
    x = w.op("Gather", w.normal((vocabulary, width), 1.0), ids)
    x = w.op("Transpose", x, perm=[1, 0, 2])
    for layer in range(layers):
        x = _bidirectional(w, x, 2 * hidden if layer else width, hidden, sequence)
    x = w.op("Transpose", x, perm=[1, 0, 2])
    w.op("Identity", linear(w, x, 2 * hidden, tags), out="logits")
    w.output("logits", [1, sequence, tags])
    return w.model()


def _bidirectional(w: GraphWriter, x: str, inputs: int, hidden: int, sequence: int) -> str:
    """Both directions side by side: [sequence, 1, 2 * hidden]."""
    start = w.weight(np.zeros((2, 1, hidden), np.float32))
    y, _, _ = w.ops(
        "LSTM", x, w.normal((2, 4 * hidden, inputs), inputs**-0.5),
        w.normal((2, 4 * hidden, hidden), hidden**-0.5), w.normal((2, 8 * hidden), 0.05), "", start, start,
        outs=3, direction="bidirectional", hidden_size=hidden,
    )  # fmt: skip
    y = w.op("Transpose", y, perm=[0, 2, 1, 3])
    return w.op("Reshape", y, w.ints(0, 0, -1))
