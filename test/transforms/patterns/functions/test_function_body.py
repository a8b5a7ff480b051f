"""Function bodies are expanded when asked for, and raised patterns undo that."""

from __future__ import annotations

import numpy as np
import pytest
from ir_graphs import graph
from rewritten import op_names

from onnxloom.dialects.onnx.text import make_context
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.testing import Rel
from onnxloom.testing.patterns import check_pattern
from onnxloom.transforms.folding.evaluator import use_evaluator
from onnxloom.transforms.folding.fold_constants import FoldConstantsPass
from onnxloom.transforms.patterns.activation.gelu import GeluPattern
from onnxloom.transforms.patterns.activation.gelu_tanh import GeluTanhPattern
from onnxloom.transforms.patterns.activation.mish import MishPattern
from onnxloom.transforms.patterns.activation.swish import SwishPattern
from onnxloom.transforms.patterns.algebra.sum_add import SumAddPattern
from onnxloom.transforms.patterns.functions.function_body import StandardFunctionPattern
from onnxloom.transforms.rewriting.pattern import PatternOptimization
from onnxloom.transforms.rewriting.registry import own_patterns

FEEDS = {"x": np.linspace(-4, 4, 8, dtype=np.float32).reshape(2, 4)}


def test_it_runs_only_by_name():
    registry = own_patterns()
    assert StandardFunctionPattern not in registry.select()
    assert registry.select(("FunctionBody",)) == (StandardFunctionPattern,)


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("%y = Gelu %x", GeluPattern),
        ('%y = Gelu %x {approximate = "tanh"}', GeluTanhPattern),
        ("%y = Mish %x", MishPattern),
        ("%y = Swish %x {alpha = 1.5 : f32}", SwishPattern),
    ],
)
def test_what_raises_the_parts_raises_those_of_the_standard(line: str, pattern: type[PatternOptimization]):
    parts = check_pattern(graph(line), StandardFunctionPattern, FEEDS, Rel(1e-5))
    with use_evaluator(HostEvaluator()):
        FoldConstantsPass().apply(make_context(), parts)
    assert len(op_names(parts)) > 2
    whole = check_pattern(parts, [SumAddPattern, pattern], FEEDS, Rel(1e-5))
    assert op_names(whole) == [line.split()[2]]
