"""Why does a compiled model compute something else? Finds the first step at fault.

That is the first rewrite, fold or fused op after which the model, evaluated on the host, gives outputs out
of tolerance; a pass as a whole where it changes results without asking for each rewrite; and when all passes
are right, the first kernel that does not do what its op does. A reduced model with its inputs, which still
shows the fault, is written beside. Exit code 1 when something was found.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onnxloom.tools.commands.check import add_tolerance_argument, tolerance_of
from onnxloom.tools.commands.run import add_compile_arguments, add_input_arguments
from onnxloom.tools.failures import EXIT_INPUT, EXIT_OK, CommandLineError
from onnxloom.tools.streams import say

if TYPE_CHECKING:
    from onnxloom.tools.bisecting.find import Finding
    from onnxloom.tools.bisecting.reduce import Reduced

HELP = "find the first pass, rewrite or kernel that makes a model compute something else"

SUFFIXES = (".onnx", ".mlir")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help=".onnx or .mlir file")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="reduced model (default: NAME-reduced.onnx; .mlir for text)"
    )
    parser.add_argument(
        "-p", "--passes", metavar="PIPELINE", help="passes to look at in place of those of the level"
    )
    add_tolerance_argument(parser)
    add_input_arguments(parser)
    add_compile_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from onnxloom.tools.bisecting.find import find_fault
    from onnxloom.tools.numerics.subject import load_subject

    allowed = tolerance_of(args)
    output = Path(args.output if args.output is not None else f"{Path(args.model).stem}-reduced.onnx")
    if output.suffix not in SUFFIXES:
        raise CommandLineError(f"-o {output}: expected a name that ends with .onnx or .mlir")
    subject = load_subject(args)
    finding = find_fault(subject, allowed, passes=args.passes, suffix=output.suffix)
    say(f"{finding.rewrites} rewrite{'' if finding.rewrites == 1 else 's'}, tolerance {allowed}")
    for line in finding.lines:
        say(line)
    if finding.is_right:
        return EXIT_OK
    _write(finding, output)
    return EXIT_INPUT


def _write(finding: Finding, output: Path) -> None:
    from onnxloom.tools.bisecting.reduce import write_model
    from onnxloom.tools.commands.run import save_arrays

    reduced: Reduced | None = finding.reduced
    if reduced is None:
        say("no smaller model shows it: the model itself is the case to report")
        return
    inputs = output.with_suffix(".npz")
    write_model(reduced.module, output)
    save_arrays(str(inputs), reduced.feeds)
    size = "1 op" if reduced.ops == 1 else f"{reduced.ops} ops"
    say(f"reduced model: {output} ({size}), its inputs: {inputs}")
    say(f"  it shows: {reduced.fault}")
