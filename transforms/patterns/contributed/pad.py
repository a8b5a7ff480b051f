"""com.microsoft Pad(data, pads, value) -> Pad(data, pads, value)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedPadPattern(ContributedOpPattern):
    op_type = "Pad"
    operands = ("data", "pads", "value")
    attributes: ClassVar[Mapping[str, Any]] = {"mode": "constant"}

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        # Pads may be one row, the value a list of one number.
        pads, value = inputs.pads, inputs.value
        if match.graph.rank(match["pads"]) != 1:
            pads = op.Reshape(pads, [-1])
        if value is not None and match.graph.rank(match["value"]) != 0:
            value = op.Reshape(value, np.zeros(0, np.int64))
        return op.Pad(inputs.data, pads, value, mode=match.attribute("mode"))
