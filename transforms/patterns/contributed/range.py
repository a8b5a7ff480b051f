"""com.microsoft Range(start, limit, delta) -> Range(start, limit, delta), where 1 is the default step"""

from __future__ import annotations

import numpy as np

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedRangePattern(ContributedOpPattern):
    op_type = "Range"
    operands = ("start", "limit", "delta")

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        start, limit = (_number(match, name) for name in ("start", "limit"))
        return op.Range(start, limit, _number(match, "delta") if match.has("delta") else 1)


def _number(match: Match, name: str) -> Tensor:
    """The operand, which may be a list of one number, without dims."""
    value: Tensor = getattr(match.inputs, name)
    return value if match.graph.rank(match[name]) == 0 else op.Reshape(value, np.zeros(0, np.int64))
