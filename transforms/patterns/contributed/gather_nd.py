"""com.microsoft GatherND(data, indices) -> GatherND(data, indices)"""

from __future__ import annotations

import numpy as np

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op

_INT64 = 7
"""TensorProto.INT64."""


class ContributedGatherNDPattern(ContributedOpPattern):
    op_type = "GatherND"
    operands = ("data", "indices")
    min_opset = 12

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        indices = inputs.indices
        if match.graph.dtype(match["indices"]) != np.int64:
            indices = op.Cast(indices, to=_INT64)
        return op.GatherND(inputs.data, indices)
