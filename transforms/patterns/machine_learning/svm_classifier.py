"""SVMClassifier(X; support_vectors, coefficients, rho, ..) -> labels[ArgMax(votes)], transform(scores)

The score of two classes is MatMul(K(X, support_vectors), C) + rho, with C of the coefficients that belong
to the pair; above 0 it is a vote for the first. Probabilities are made of the scores step by step, which
`svm_probabilities.py` leaves to a kernel. C goes into the support vectors of a linear kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from onnx import TensorProto
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.machine_learning.features import (
    Array,
    as_f32,
    feature_count,
    numbers,
    row_problem,
)
from onnxloom.transforms.patterns.machine_learning.post_transforms import (
    TRANSFORMS,
    chosen,
    transformed,
    two_scores,
)
from onnxloom.transforms.patterns.machine_learning.svm_regressor import KERNELS, weighted
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor, op
from onnxloom.transforms.rewriting.pattern import Numerics


class SVMClassifierPattern(DecomposePattern):
    """A support vector classification becomes products, elementwise ops and the choice of a label."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.SVMClassifierOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def requirements(self, match: Match) -> Miss | None:
        problem = row_problem(match)
        if problem is not None:
            return problem
        features, supports, classes = feature_count(match), sum(_per_class(match)), _class_count(match)
        transform = match.attribute("post_transform")
        if match.attribute("prob_a"):
            return no_match(match.anchor, "it gives probabilities")
        if classes < 2 or not features:
            return no_match(match.anchor, "there are fewer than two classes, or the features are not known")
        if transform not in TRANSFORMS or (transform == "PROBIT" and classes == 2):
            return no_match(match.anchor, f"what follows is {transform}")
        coefficients, rho = (_size(match, name) for name in ("coefficients", "rho"))
        pairs = classes * (classes - 1) // 2
        if not supports:
            return no_match(match.anchor, "there are no support vectors")
        if len(_per_class(match)) != classes or coefficients != supports * (classes - 1) or rho != pairs:
            return no_match(match.anchor, "there is not one coefficient per support vector and other class")
        if _size(match, "support_vectors") != supports * features:
            return no_match(match.anchor, "the support vectors do not have as many features as X")
        kernel = match.attribute("kernel_type")
        if kernel not in KERNELS or (kernel != "LINEAR" and _size(match, "kernel_params") != 3):
            return no_match(match.anchor, f"the kernel is {kernel}, or lacks gamma, coef0 and degree")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor]:
        per_class, classes, rho = _per_class(match), _class_count(match), numbers(match, "rho")
        assert rho is not None, "asked before"
        pairs = weighted(match, np.float32, sum(per_class), as_f32(match), _by_pair(match, per_class)) + rho
        best, transform = _most_votes(pairs, classes), match.attribute("post_transform")
        if classes == 2:
            scores = two_scores(pairs, transform, op.Neg(pairs) if transform == "NONE" else 1.0 - pairs)
        else:
            scores = transformed(pairs, transform, len(rho))
        labels = (match.attribute("classlabels_ints"), match.attribute("classlabels_strings"))
        return chosen(best, *labels), scores


def _by_pair(match: Match, per_class: Sequence[int]) -> Array:
    """`[supports, pairs]`: what the similarity to a support vector adds to the score of a pair of classes."""
    given, classes = numbers(match, "coefficients"), len(per_class)
    assert given is not None, "asked before"
    rows, ends = given.reshape(classes - 1, -1), np.cumsum([0, *per_class])
    matrix = np.zeros((rows.shape[1], classes * (classes - 1) // 2), np.float32)
    for at, (i, j) in enumerate(combinations(range(classes), 2)):
        matrix[ends[i] : ends[i + 1], at] = rows[j - 1, ends[i] : ends[i + 1]]
        matrix[ends[j] : ends[j + 1], at] = rows[i, ends[j] : ends[j + 1]]
    return matrix


def _most_votes(pairs: Tensor, classes: int) -> Tensor:
    """The class that wins most pairs, the first of several."""
    gained = np.zeros((classes * (classes - 1) // 2, classes), np.float32)
    for at, (i, j) in enumerate(combinations(range(classes), 2)):
        gained[at, i], gained[at, j] = 1, -1
    is_first = op.Cast(op.Greater(pairs, 0.0), to=TensorProto.FLOAT)
    # Every second class of a pair starts with the vote that it loses to the first.
    start = np.arange(classes).astype(np.float32)
    return op.ArgMax(op.MatMul(is_first, gained) + start, axis=1, keepdims=0)


def _per_class(match: Match) -> tuple[int, ...]:
    return tuple(match.attribute("vectors_per_class") or ())


def _class_count(match: Match) -> int:
    return _size(match, "classlabels_strings") or _size(match, "classlabels_ints")


def _size(match: Match, name: str) -> int:
    given: Any = match.attribute(name)
    return len(given or ())
