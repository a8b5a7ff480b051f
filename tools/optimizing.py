"""What does `onnxloom optimize` do? The passes of a level without fusion, at the model's own opset."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from onnxloom.conversion.onnx_export.module import DEFAULT_OPSET
from onnxloom.dialects.onnx.module_attributes import opset_imports
from onnxloom.dialects.onnx.text import make_context
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.transforms.folding.evaluator import use_evaluator
from onnxloom.transforms.pass_manager.pass_log import PipelineReport
from onnxloom.transforms.pass_manager.pass_runner import run_pipeline
from onnxloom.transforms.pass_manager.pass_text import parse_passes
from onnxloom.transforms.pass_manager.target_opset import with_opset
from onnxloom.transforms.pipelines import FusionOptions, PipelineOptions, pipeline
from onnxloom.transforms.rewriting.report import RewriteReport, use_report

_STRUCTURE = ("onnx.Constant", "onnx.NoValue", "onnx.Return", "onnx.Yield", "onnx.EntryPoint")


@dataclass(frozen=True)
class Optimizing:
    """What is asked for."""

    level: int = 2
    passes: str | None = None
    """Instead of those of the level, as text."""

    opset: int | None = None
    """What results may use; the model's own when left out."""

    patterns: tuple[str, ...] | None = None
    skip_patterns: tuple[str, ...] = ()
    skip_passes: tuple[str, ...] = ()
    strict: bool = False


@dataclass(frozen=True)
class Optimized:
    """What was done."""

    before: Mapping[str, int]
    """Op name -> how many there were; constants are none."""

    after: Mapping[str, int]
    passes: PipelineReport = field(default_factory=PipelineReport)
    rewrites: RewriteReport = field(default_factory=RewriteReport)


def optimize_module(module: ModuleOp, asked: Optimizing = Optimizing()) -> Optimized:
    """Optimizes a module in place.

    Raises:
        ModelError: the shapes of an op's inputs contradict each other.
        PassError: a pass or pattern is not there; with `strict`, a pass failed.
        ValueError: `passes` is no list of passes.
    """
    before, rewrites = op_counts(module), RewriteReport()
    passes = passes_for(asked, asked.opset or own_opset(module))
    with use_evaluator(HostEvaluator()), use_report(rewrites):
        done = run_pipeline(module, make_context(), passes, strict=asked.strict, skip=asked.skip_passes)
    return Optimized(before, op_counts(module), done, rewrites)


def passes_for(asked: Optimizing, opset: int) -> list[ModulePass]:
    """The passes that are asked for. Raises PassError or ValueError for one that is not there."""
    if asked.passes is not None:
        return with_opset(parse_passes(asked.passes), opset)
    options = PipelineOptions(
        fusion=FusionOptions(disable_fused_op=True),
        patterns=asked.patterns,
        skip_patterns=asked.skip_patterns,
        take_apart=False,
        opset=opset,
    )
    return pipeline(asked.level, options)


def own_opset(module: ModuleOp) -> int:
    """The opset of the default domain the model came from."""
    return opset_imports(module).get("", DEFAULT_OPSET)


def op_counts(module: Operation) -> Counter[str]:
    """How many ops of each name there are, inner graphs included."""
    names = (op.name for op in module.walk())
    return Counter(name for name in names if name.startswith("onnx.") and name not in _STRUCTURE)


def split_globs(texts: list[str]) -> tuple[str, ...]:
    """Names and globs that one or several options list, separated by commas or blanks."""
    return tuple(part for text in texts for part in re.split(r"[,\s]+", text) if part)
