"""com.microsoft MatMulBnb4(A, B, absmax) -> MatMul(A, the weights that B stands for)

`B` holds two weights a byte, the first in the high bits: numbers of the values of a table, which are scaled
by the `absmax` of their block. All of them one after the other are the weights `[N, K]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op

_FP4: Final = (0.0, 5.208333333e-03, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)
"""What the numbers 0 to 7 stand for; those from 8 on are the same, negated."""

_NF4: Final = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
    -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
    0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
    0.7229568362236023, 1.0,
)  # fmt: skip
"""Quantiles of the normal distribution."""

_TABLES: Final = (np.array([*_FP4, *(-x for x in _FP4)], np.float32), np.array(_NF4, np.float32))
"""By `quant_type`."""


class ContributedMatMulBnb4Pattern(ContributedOpPattern):
    op_type = "MatMulBnb4"
    operands = ("A", "B", "absmax")
    attributes: ClassVar[Mapping[str, Any]] = {
        "K": None, "N": None, "block_size": None, "quant_type": None, "training_mode": 0, "transB": 1,
    }  # fmt: skip

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        depth, columns, block, kind = (match.attribute(n) for n in ("K", "N", "block_size", "quant_type"))
        if kind not in (0, 1) or match.graph.dtype(match["A"]) != np.float32:
            return no_match(match.anchor, "its table is not known, or A is not f32")
        packed, scales = (match.graph.constant(match[name]) for name in ("B", "absmax"))
        count = depth * columns
        if packed is None or scales is None:
            return no_match(match.anchor, "the weights or their scales are not constant")
        if packed.size < -(-count // 2) or scales.size < -(-count // block):
            return no_match(match.anchor, "there are fewer weights or scales than K times N need")
        numbers = np.stack([packed.reshape(-1) >> 4, packed.reshape(-1) & 15], -1).reshape(-1)[:count]
        scaled = _TABLES[kind][numbers] * np.repeat(scales.reshape(-1), block)[:count]
        if not match.attribute("transB"):
            return op.MatMul(inputs.A, scaled.reshape(columns, depth))
        return op.MatMul(inputs.A, np.ascontiguousarray(scaled.reshape(columns, depth).T))
