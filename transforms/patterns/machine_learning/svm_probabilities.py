"""SVMClassifier(X; prob_a, ..) -> labels[classes], transform(probabilities) of SVMClassifier(X)

where that one has numbers for labels, takes f32, and transforms nothing: such a one is a kernel.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.machine_learning.features import as_f32, row_problem
from onnxloom.transforms.patterns.machine_learning.post_transforms import TRANSFORMS, chosen, transformed
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor, op
from onnxloom.transforms.rewriting.pattern import Numerics


class SVMProbabilitiesPattern(DecomposePattern):
    """What is around the probabilities of a support vector classification is ops of its own."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.SVMClassifierOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def requirements(self, match: Match) -> Miss | None:
        problem = row_problem(match)
        if problem is not None:
            return problem
        transform, strings = match.attribute("post_transform"), match.attribute("classlabels_strings")
        if not match.attribute("prob_a") or not match.attribute("vectors_per_class"):
            return no_match(match.anchor, "it gives no probabilities of pairs")
        if not (strings or match.attribute("classlabels_ints")):
            return no_match(match.anchor, "there are no labels")
        if transform not in TRANSFORMS:
            return no_match(match.anchor, f"what follows is {transform}")
        if transform == "NONE" and not strings and match.graph.dtype(match["X"]) == np.float32:
            return no_match(match.anchor, "there is nothing around the probabilities")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor]:
        given: dict[str, Any] = dict(match.anchor.properties)
        strings, ints = (match.attribute(f"classlabels_{kind}") for kind in ("strings", "ints"))
        for name in ("classlabels_strings", "classlabels_ints", "post_transform"):
            given.pop(name, None)
        count = len(strings or ints)
        inner = op.SVMClassifier(as_f32(match), classlabels_ints=list(range(count)), **given)
        best, probabilities = inner.results(2)
        return chosen(best, ints, strings), transformed(
            probabilities, match.attribute("post_transform"), count
        )
