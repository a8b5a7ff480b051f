"""Which passes does a model go through before it is converted, and what did they do?"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from onnxloom.lowering.compile import CompileOptions
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.transforms.folding.evaluator import use_evaluator
from onnxloom.transforms.pass_manager.pass_log import PipelineReport
from onnxloom.transforms.pass_manager.pass_runner import run_pipeline
from onnxloom.transforms.pipelines import FoldingOptions, FusionOptions, PipelineOptions, pipeline


def optimize_module(module: ModuleOp, context: Context, options: CompileOptions) -> PipelineReport:
    """Runs the passes of the optimization level over a module.

    Raises:
        ModelError: the shapes of an op's inputs contradict each other.
        PassError: an option names something that is not there; with `options.strict`, a pass failed.
    """
    passes = pipeline(options.opt_level, pipeline_options(options))
    with use_evaluator(HostEvaluator()):
        return run_pipeline(module, context, passes, strict=options.strict, skip=options.skip_passes)


def pipeline_options(options: CompileOptions) -> PipelineOptions:
    """The switches of passes among those of compilation."""
    fusion = FusionOptions(options.fusion_kinds, options.disabled_kinds, not options.fuse)
    return PipelineOptions(fusion, FoldingOptions(options.fold), skip_patterns=options.skip_patterns)
