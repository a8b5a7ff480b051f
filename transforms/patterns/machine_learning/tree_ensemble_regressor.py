"""TreeEnsembleRegressor(X) -> transform(TreeEnsemble(X) + base_values)"""

from __future__ import annotations

from typing import ClassVar, Final

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
from onnxloom.transforms.patterns.machine_learning.old_trees import SUM, entries_of, old_trees, summed
from onnxloom.transforms.patterns.machine_learning.post_transforms import TRANSFORMS, transformed
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor
from onnxloom.transforms.rewriting.pattern import Numerics

AGGREGATES: Final = ("AVERAGE", "SUM", "MIN", "MAX")
"""By the numbers of TreeEnsemble."""


class TreeEnsembleRegressorPattern(DecomposePattern):
    """The old op of a regression becomes the one that is not deprecated."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.TreeEnsembleRegressorOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def requirements(self, match: Match) -> Miss | None:
        problem = row_problem(match)
        if problem is not None:
            return problem
        targets, base = match.attribute("n_targets"), list_or_tensor(match, "base_values")
        if not targets:
            return no_match(match.anchor, "the number of targets is not said")
        if base is not None and base.size not in (1, targets):
            return no_match(match.anchor, "there is neither one base value nor one per target")
        if match.attribute("post_transform") not in TRANSFORMS:
            return no_match(match.anchor, f"what follows is {match.attribute('post_transform')}")
        if match.attribute("aggregate_function") not in AGGREGATES:
            return no_match(match.anchor, f"trees are joined by {match.attribute('aggregate_function')}")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        targets, aggregate = match.attribute("n_targets"), match.attribute("aggregate_function")
        trees = old_trees(match)
        if isinstance(trees, Miss):
            return trees
        entries = entries_of(match, trees, "target", targets)
        if isinstance(entries, Miss):
            return entries
        if not entries.is_single and aggregate in ("MIN", "MAX"):
            return no_match(match.anchor, "a leaf has several weights, of which the least or largest counts")
        dtype = computed_dtype(match)
        if entries.is_single:
            total = summed(match, trees, entries, targets, AGGREGATES.index(aggregate))
        else:
            total = summed(match, trees, entries, targets, SUM)
            total = total / np.array(trees.roots, dtype) if aggregate == "AVERAGE" else total
        base = list_or_tensor(match, "base_values")
        total = total if base is None else total + base.astype(dtype)
        return as_result(match, transformed(total, match.attribute("post_transform"), targets))
