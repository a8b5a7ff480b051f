"""TreeEnsemble(X; post_transform) -> transform(TreeEnsemble(X))"""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.machine_learning.post_transforms import TRANSFORMS, transformed
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor, op
from onnxloom.transforms.rewriting.pattern import Numerics


class TreeEnsembleTransformPattern(DecomposePattern):
    """What becomes of the sums of trees is ops of its own."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.TreeEnsembleOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def requirements(self, match: Match) -> Miss | None:
        if not 0 < match.attribute("post_transform") < len(TRANSFORMS):
            return no_match(match.anchor, "nothing follows that is known here")
        if not match.attribute("n_targets"):
            return no_match(match.anchor, "the number of targets is not said")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        given: dict[str, Any] = dict(match.anchor.properties)
        name: str = TRANSFORMS[int(match.attribute("post_transform"))]
        del given["post_transform"]
        return transformed(op.TreeEnsemble(inputs.X, **given), name, match.attribute("n_targets"))
