"""TreeEnsembleClassifier(X) -> labels[ArgMax(t)], t = transform(TreeEnsemble(X) + base_values)

The transform is none, the logistic function or a softmax. Of two classes with weights of the first alone, the
sum s becomes [1 - s, s] where nothing follows, else [-s, s].
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
    numbers,
    row_problem,
)
from onnxloom.transforms.patterns.machine_learning.old_trees import entries_of, old_trees, summed
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
        labels, ids = match.attribute("classlabels_int64s") or (), match.attribute("class_ids") or ()
        if len(labels) < 2:
            return no_match(match.anchor, "the labels are strings, or fewer than two")
        if len(set(ids)) == 1 and (set(ids) != {0} or len(labels) != 2):
            return no_match(match.anchor, "all weights are of one class, which is not the first of two")
        base = numbers(match, "base_values")
        if base is not None and base.size != (1 if _is_binary(match) else len(labels)):
            return no_match(match.anchor, "there is not one base value per score")
        if match.attribute("post_transform") not in ("NONE", "LOGISTIC", "SOFTMAX"):
            return no_match(match.anchor, f"what follows is {match.attribute('post_transform')}")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor] | Miss:
        trees = old_trees(match)
        if isinstance(trees, Miss):
            return trees
        labels = np.array(match.attribute("classlabels_int64s"), np.int64)
        scores = 1 if _is_binary(match) else len(labels)
        entries = entries_of(match, trees, "class", scores)
        if isinstance(entries, Miss):
            return entries
        base, dtype = numbers(match, "base_values"), computed_dtype(match)
        total = summed(match, trees, entries, scores)
        total = total if base is None else total + base.astype(dtype)
        if _is_binary(match):
            has_transform = match.attribute("post_transform") != "NONE"
            first = op.Neg(total) if has_transform else op.Sub(np.array([1.0], dtype), total)
            total = op.Concat(first, total, axis=1)
        transformed = _transformed(total, match.attribute("post_transform"))
        best = op.ArgMax(transformed, axis=1, keepdims=0)
        return op.Gather(labels, best), as_result(match, transformed)


def _is_binary(match: Match) -> bool:
    return len(set(match.attribute("class_ids") or ())) == 1


def _transformed(total: Tensor, name: str) -> Tensor:
    if name == "LOGISTIC":
        return op.Sigmoid(total)
    return op.Softmax(total, axis=1) if name == "SOFTMAX" else total
