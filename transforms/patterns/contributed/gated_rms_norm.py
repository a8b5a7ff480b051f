"""com.microsoft GatedRMSNorm(X, scale, gate) -> RMSNormalization(X, scale) * activation(gate)

where rows of X are as long as the scale, or several times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.attention_masks import FLOAT, element_code
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.operands import static_dim
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedGatedRMSNormPattern(ContributedOpPattern):
    op_type = "GatedRMSNorm"
    operands = ("X", "scale", "gate")
    attributes: ClassVar[Mapping[str, Any]] = {"activation": "silu", "epsilon": 1e-5}
    min_opset = 23

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        size = static_dim(match.graph, match["scale"], 0)
        if size is None or match.graph.rank(match["scale"]) != 1:
            return no_match(match.anchor, "the length of the scale is not known")
        if match.attribute("activation") not in ("silu", "swish", "sigmoid"):
            return no_match(match.anchor, f"the activation {match.attribute('activation')!r} is not known")
        code = element_code(match, "X")

        def whole(x: Tensor) -> Tensor:
            return x if code == FLOAT else op.Cast(x, to=FLOAT)

        x, gate = whole(inputs.X), whole(inputs.gate)
        is_packed = static_dim(match.graph, match["X"], -1) != size
        if is_packed:
            x = op.Reshape(x, [-1, size])
        y = op.RMSNormalization(x, whole(inputs.scale), axis=-1, epsilon=match.attribute("epsilon"))
        if is_packed:
            y = op.Reshape(y, op.Shape(inputs.X))
        opened = op.Sigmoid(gate)
        y = y * (opened if match.attribute("activation") == "sigmoid" else gate * opened)
        return y if code == FLOAT else op.Cast(y, to=code)
