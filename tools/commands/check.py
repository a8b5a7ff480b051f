"""Does a model compute, once compiled, what it should? A table of errors, the worst first.

The outputs of the compiled model are compared with the reference (every op evaluated on the host, before
any pass), with onnxruntime (its optimizations off), or with onnxloom's own level 0. With --all-values every
value that is still computed after the passes is compared too, named by its node and op. Exit code 1 when
something is out of tolerance; `onnxloom bisect` then finds out why.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from onnxloom.tools.commands.run import add_compile_arguments, add_input_arguments
from onnxloom.tools.failures import EXIT_INPUT, EXIT_OK
from onnxloom.tools.streams import say

if TYPE_CHECKING:
    from onnxloom.testing.tolerance import Tolerance
    from onnxloom.tools.numerics.subject import Subject

HELP = "compare what a compiled model computes with a reference"

AGAINST = ("reference", "onnxruntime", "O0")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help=".onnx or .mlir file")
    parser.add_argument(
        "--against", choices=AGAINST, default="reference", help="what to compare with (default: reference)"
    )
    parser.add_argument(
        "--all-values", action="store_true", help="compare inner values too, not only outputs"
    )
    add_tolerance_argument(parser)
    add_input_arguments(parser)
    add_compile_arguments(parser)


def add_tolerance_argument(parser: argparse.ArgumentParser) -> None:
    """How far a value may be off."""
    parser.add_argument(
        "--tolerance",
        metavar="KIND:X",
        help="exact, abs:X, rel:X or ulp:N (default: rel:1e-3, or 16 roundings of 16-bit floats)",
    )


def run(args: argparse.Namespace) -> int:
    from onnxloom.tools.numerics.compare_values import compare_all, compare_outputs
    from onnxloom.tools.numerics.error_table import complaints, table
    from onnxloom.tools.numerics.subject import load_subject

    allowed = tolerance_of(args)
    subject = load_subject(args)
    compare = compare_all if args.all_values else compare_outputs
    rows = compare(subject, args.against, allowed)
    say(f"-O{args.opt_level} against {args.against}, tolerance {allowed}{_made_up(args, subject)}")
    for line in table(rows):
        say(line)
    wrong = list(complaints(rows))
    for line in wrong:
        say(f"out of tolerance: {line}")
    if not wrong:
        say(f"all {len(rows)} values are within tolerance")
    return EXIT_INPUT if wrong else EXIT_OK


def tolerance_of(args: argparse.Namespace) -> Tolerance:
    """Raises CommandLineError for what is no tolerance."""
    from onnxloom.testing.tolerance import DEFAULT, parse_tolerance
    from onnxloom.tools.failures import CommandLineError

    if args.tolerance is None:
        return DEFAULT
    try:
        return parse_tolerance(args.tolerance)
    except ValueError as error:
        raise CommandLineError(f"--tolerance {error}") from None


def _made_up(args: argparse.Namespace, subject: Subject) -> str:
    if not subject.made_up:
        return ""
    return f"; random inputs of seed {args.seed}: {', '.join(subject.made_up)}"
