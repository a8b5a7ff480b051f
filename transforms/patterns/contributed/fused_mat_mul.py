"""com.microsoft FusedMatMul(A, B) -> MatMul of A and B, transposed, times alpha

where the ranks of transposed operands are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedFusedMatMulPattern(ContributedOpPattern):
    op_type = "FusedMatMul"
    operands = ("A", "B")
    attributes: ClassVar[Mapping[str, Any]] = {
        "alpha": 1.0,
        "transA": 0,
        "transB": 0,
        "transBatchA": 0,
        "transBatchB": 0,
    }

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        factors: list[Tensor] = []
        for name in self.operands:
            permuted = _permuted(match, name, getattr(inputs, name))
            if isinstance(permuted, Miss):
                return permuted
            factors.append(permuted)
        product = op.MatMul(*factors)
        alpha = match.attribute("alpha")
        return product if alpha == 1.0 else product * alpha


class ContributedTransposeMatMulPattern(ContributedFusedMatMulPattern):
    op_type = "TransposeMatMul"


def _permuted(match: Match, name: str, value: Tensor) -> Tensor | Miss:
    """A factor in the order in which MatMul takes it; vectors stay."""
    swap, batch = (bool(match.attribute(f"{kind}{name}")) for kind in ("trans", "transBatch"))
    if not swap and not batch:
        return value
    rank = match.graph.rank(match[name])
    if rank is None:
        return no_match(match.anchor, f"the rank of {name}, which is transposed, is not known")
    if rank < 2:
        return value
    axes = list(range(rank))
    if batch:
        # The first dim stands for the rows; the batch dims come after it.
        axes = [*axes[1:-1], 0, axes[-1]]
    if swap:
        axes[-2:] = axes[:-3:-1]
    return op.Transpose(value, perm=axes)
