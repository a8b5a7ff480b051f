"""Says what becomes of a model: which chains of ops are fused, where fusion declines and why (with the file
and line of the check), and which ops run in Python because they have no kernel.

With --pattern it says instead where a rewrite pattern matches once all others have run, and shows how near it
comes where it does not: the ops of the best attempt, and the first thing that differed.

With --plan the model is also run once, and the plan of that run is shown: for each kernel call what it
computes, the bytes it moves, the least time that takes and its share, where its values lie (`@N`: byte N of
the arena; `arrayN`: an array of its own) and whether a result takes the place of an operand; and what Python
does between stretches of calls. Inputs are given or made up as for `onnxloom run`. The limits are those of a
usual processor with this one's vectors; --measure measures them.
"""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING

from onnxloom.tools.commands.run import add_compile_arguments, add_input_arguments
from onnxloom.tools.failures import EXIT_OK
from onnxloom.tools.streams import say

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from onnxloom.lowering.compile import CompileOptions

HELP = "say what is fused, what is not and why, and what runs in Python"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help=".onnx or .mlir file")
    parser.add_argument(
        "--plan", action="store_true", help="run the model once and show the plan of that run"
    )
    parser.add_argument(
        "--measure", action="store_true", help="with --plan: measure the limits of this processor first"
    )
    parser.add_argument(
        "--pattern",
        metavar="NAME",
        help="say where a rewrite pattern matches, and how near it comes where it does not",
    )
    add_input_arguments(parser)
    add_compile_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from onnxloom.lowering.build_model import read_module
    from onnxloom.tools.commands.run import compile_options

    options = compile_options(args)
    module = read_module(args.model, options)
    if args.pattern is not None:
        _explain_pattern(module, args.pattern, options)
        return EXIT_OK
    say(f"model: {_count(_op_count(module), 'op')}")
    _explain_fusion(module, options)
    _explain_conversion(module, options)
    if args.plan:
        _explain_plan(args)
    return EXIT_OK


def _op_count(module: ModuleOp) -> int:
    """Ops of the standard, without constants."""
    structural = {"onnx.Constant", "onnx.NoValue", "onnx.Return", "onnx.Yield", "onnx.EntryPoint"}
    return sum(1 for op in module.walk() if op.name.startswith("onnx.") and op.name not in structural)


def _explain_pattern(module: ModuleOp, name: str, options: CompileOptions) -> None:
    """Asks patterns at the model as all others leave it."""
    from dataclasses import replace

    from onnxloom.dialects.onnx.text import make_context
    from onnxloom.lowering.evaluate_op import HostEvaluator
    from onnxloom.lowering.optimize import pipeline_options
    from onnxloom.tools.optimizing import own_opset
    from onnxloom.transforms.folding.evaluator import use_evaluator
    from onnxloom.transforms.pass_manager.pass_runner import run_pipeline
    from onnxloom.transforms.pipelines import FusionOptions, pipeline
    from onnxloom.transforms.rewriting.explain import explain_pattern
    from onnxloom.transforms.rewriting.pattern import Stage
    from onnxloom.transforms.rewriting.registry import current_patterns

    chosen, opset = current_patterns().select((name,)), own_opset(module)
    switches = replace(pipeline_options(options), skip_patterns=(*options.skip_patterns, name))
    if all(pattern.stage is not Stage.AFTER_FUSION for pattern in chosen):
        switches = replace(switches, fusion=FusionOptions(disable_fused_op=True))
    with use_evaluator(HostEvaluator()):
        run_pipeline(module, make_context(), pipeline(options.opt_level, switches), skip=options.skip_passes)
        for pattern in chosen:
            say(explain_pattern(module, pattern()))
            if pattern.min_opset > opset:
                least = pattern.min_opset
                say(
                    f"the result needs opset {least}, the model has {opset}: optimize it with --opset {least}"
                )


def _explain_fusion(module: ModuleOp, options: CompileOptions) -> None:
    from onnxloom.dialects.onnx.text import make_context
    from onnxloom.lowering.optimize import optimize_module
    from onnxloom.transforms.fusion.create import FuseOpsPass

    for done in optimize_module(module, make_context(), options).of(FuseOpsPass.name):
        if isinstance(done.step, FuseOpsPass):
            say(done.step.report)


def _explain_conversion(module: ModuleOp, options: CompileOptions) -> None:
    from onnxloom.conversion.onnx_to_loom.block_converter import PLAN_TIME_REASON
    from onnxloom.conversion.onnx_to_loom.convert import ConvertOnnxToLoomPass
    from onnxloom.conversion.onnx_to_loom.decline import FusionFallbackWarning
    from onnxloom.dialects import loom
    from onnxloom.dialects.onnx.text import make_context
    from onnxloom.transforms.fusion.report import describe

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ConvertOnnxToLoomPass().apply(make_context(), module)
    fallen = [caught_one.message for caught_one in caught]
    fallen = [message for message in fallen if isinstance(message, FusionFallbackWarning)]
    if fallen:
        say(f"not compiled as one kernel after all: {_count(len(fallen), 'fused op')}")
    for message in fallen:
        say(f"  {message}")
    kernels = [op for op in module.walk() if isinstance(op, loom.KernelOp)]
    launches = [op for op in module.walk() if isinstance(op, loom.LaunchOp)]
    hosts = [op for op in module.walk() if isinstance(op, loom.HostOp)]
    settled = [op for op in hosts if op.reason.data == PLAN_TIME_REASON]
    running = [op for op in hosts if op.reason.data != PLAN_TIME_REASON]
    say(f"compiled: {_count(len(kernels), 'kernel')} for {_count(len(launches), 'launch', 'launches')}")
    say(f"settled before running, from shapes and constants: {_count(len(settled), 'op')}")
    in_python: list[str] = []
    refused: list[str] = []
    for op in running:
        node = next(inner for inner in op.body.block.ops if inner.name != "onnx.NoValue")
        (in_python if _runs_in_python(node) else refused).append(f"  {describe(node)}: {op.reason.data}")
    for line in (f"in Python: {_count(len(in_python), 'op')}", *in_python):
        say(line)
    if not refused:
        return
    for line in (f"not supported, the model does not run: {_count(len(refused), 'op')}", *refused):
        say(line)


def _runs_in_python(op: Operation) -> bool:
    """Whether anything here evaluates the op; a session refuses the model otherwise."""
    from onnxloom.dialects import onnx
    from onnxloom.lowering.runtime.host_ops import can_evaluate

    if isinstance(op, onnx.CustomOp):
        return can_evaluate(op.domain_name.data, op.function_name.data)
    return not isinstance(op, onnx.OnnxOp) or can_evaluate(op.domain, op.onnx_name)


def _explain_plan(args: argparse.Namespace) -> None:
    from onnxloom.lowering.roofline.machine import assumed_machine, measure_machine
    from onnxloom.tools.benchmarking.inspected import compile_inspected
    from onnxloom.tools.benchmarking.plan_listing import plan_lines
    from onnxloom.tools.commands.run import compile_options, feeds_for

    inspected = compile_inspected(args.model, compile_options(args))
    feeds = feeds_for(args, inspected.model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the plan shows every host step
        inspected.model.run(feeds.arrays)
    machine = measure_machine() if args.measure else assumed_machine()
    for line in plan_lines(inspected, machine):
        say(line)


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
