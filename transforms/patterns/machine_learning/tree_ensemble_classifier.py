"""TreeEnsembleClassifier(X) -> labels[ArgMax(t)], transform(t), t = TreeEnsemble(X) + base_values

Of two classes with weights of the first alone the sum s is the score of the second; with LOGISTIC the scores
are Sigmoid(-s) and Sigmoid(s), else -s and s, or 1 - s and s where no weight is negative. The second class is
chosen where s is above 0, or above 0.5. Weights of the second class alone leave the first a score of 0.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.machine_learning.features import (
    as_result,
    computed_dtype,
    list_or_tensor,
    row_problem,
)
from onnxloom.transforms.patterns.machine_learning.old_trees import Entries, entries_of, old_trees, summed
from onnxloom.transforms.patterns.machine_learning.post_transforms import (
    TRANSFORMS,
    chosen,
    second_above,
    transformed,
    two_scores,
)
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor, op
from onnxloom.transforms.rewriting.pattern import Numerics


class TreeEnsembleClassifierPattern(DecomposePattern):
    """The old op of a classification becomes a sum over trees and the choice of a label."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.TreeEnsembleClassifierOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def requirements(self, match: Match) -> Miss | None:
        problem = row_problem(match)
        if problem is not None:
            return problem
        ids, count = set(match.attribute("class_ids") or ()), _label_count(match)
        if count < 2:
            return no_match(match.anchor, "there are fewer than two labels")
        if len(ids) == 1 and count != 2:
            return no_match(match.anchor, "all weights are of one class, of more than two")
        base = list_or_tensor(match, "base_values")
        if base is not None and (base.size != (1 if _is_binary(match) else count) or ids == {1}):
            return no_match(match.anchor, "there is not one base value per score")
        transform = match.attribute("post_transform")
        if transform not in TRANSFORMS or (transform == "PROBIT" and _is_binary(match)):
            return no_match(match.anchor, f"what follows is {transform}")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor] | Miss:
        trees = old_trees(match)
        if isinstance(trees, Miss):
            return trees
        scores = 1 if _is_binary(match) else _label_count(match)
        entries = entries_of(match, trees, "class", scores)
        if isinstance(entries, Miss):
            return entries
        base, dtype = list_or_tensor(match, "base_values"), computed_dtype(match)
        total = summed(match, trees, entries, scores)
        total = total if base is None else total + base.astype(dtype)
        best, result = self._result(match, entries, total, scores)
        labels = (match.attribute("classlabels_int64s"), match.attribute("classlabels_strings"))
        return chosen(best, *labels), as_result(match, result)

    def _result(self, match: Match, entries: Entries, total: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Which class is chosen, and the scores."""
        transform = match.attribute("post_transform")
        is_positive = bool((entries.weight >= 0).all())
        least = 0.5 if is_positive else 0.0
        if count == 1:
            one = np.ones(1, computed_dtype(match))
            opposite = op.Sub(one, total) if is_positive else op.Neg(total)
            return second_above(total, least), two_scores(total, transform, opposite)
        if set(entries.target.tolist()) == {1} and count == 2:
            best = second_above(op.Slice(total, [1], [2], [1]), least)
        else:
            best = op.ArgMax(total, axis=1, keepdims=0)
        return best, transformed(total, transform, count)


def _is_binary(match: Match) -> bool:
    return _label_count(match) == 2 and set(match.attribute("class_ids") or ()) == {0}


def _label_count(match: Match) -> int:
    return len(match.attribute("classlabels_strings") or match.attribute("classlabels_int64s") or ())
