"""Compiles a model to one file that runs where neither a compiler nor the model is.

`onnxloom run`, `onnxloom.load` and `onnxloom.InferenceSession` take the file. It holds the program, machine
code and weights, which are used where they lie in the file. It is code: run what you trust.
"""

from __future__ import annotations

import argparse
import os
import warnings
from typing import TYPE_CHECKING

from onnxloom.tools.failures import EXIT_OK
from onnxloom.tools.streams import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxloom.lowering.runtime.model import CompiledModel

HELP = "compile a model to a file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from onnxloom.tools.commands.run import add_compile_arguments

    parser.add_argument("model", help=".onnx or .mlir file")
    parser.add_argument("-o", "--output", metavar="FILE.loom", required=True, help="the file to write")
    parser.add_argument(
        "--embed-model",
        action="store_true",
        help="keep the ONNX model in the file: where the code does not fit, it is compiled again",
    )
    parser.add_argument(
        "--dims",
        action="append",
        default=[],
        metavar="NAME=SIZE,...",
        help="sizes of symbolic dims to work out the plan for (repeatable; others: when they are met)",
    )
    add_compile_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from onnxloom.lowering.artifact.save import save_artifact
    from onnxloom.lowering.compile import compile_model
    from onnxloom.lowering.cpu_target import CpuTarget
    from onnxloom.tools.commands.run import compile_options
    from onnxloom.tools.model_inputs import parse_dims
    from onnxloom.tools.progress import ProgressLine

    sizes = [parse_dims(text.split(",")) for text in args.dims] or [{}]
    source = args.model if args.embed_model else None
    _check_output(args.model, args.output)
    with ProgressLine(f"compiling {args.model}") as progress:
        options = compile_options(args, progress)
        if CpuTarget.chosen(options.cpu).runs_here:
            model = compile_model(args.model, options)
            _work_out(model, sizes)
            model.save(args.output, source=source)
        else:
            from onnxloom.lowering.build_model import build_artifact
            from onnxloom.lowering.extensions import extensions_in_use

            with extensions_in_use(options):
                save_artifact(args.output, build_artifact(args.model, options), {}, source, options)
    say(f"{args.output}: {os.path.getsize(args.output) / 1e6:.1f} MB")
    return EXIT_OK


def _check_output(model: str, output: str) -> None:
    """Raises InputError if the file to write is the model: nothing would be left of it."""
    from onnxloom.errors import InputError

    if os.path.exists(model) and os.path.exists(output) and os.path.samefile(model, output):
        raise InputError(f"{output}: is the model itself; expected another file to write")


def _work_out(model: CompiledModel, sizes: Sequence[dict[str, int]]) -> None:
    """Runs the model on made-up inputs, so that the plans for their shapes are stored.

    That made-up values are refused (an index out of range, say) says nothing about the model: what was worked
    out until then is stored.
    """
    from onnxloom.errors import OnnxloomError
    from onnxloom.tools.model_inputs import complete

    for dims in sizes:
        feeds = complete(model.inputs, {}, dims, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.run(feeds.arrays)
            except OnnxloomError:
                continue
