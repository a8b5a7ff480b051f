"""Which options does `onnxloom-opt` take?"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import NoReturn

from onnxloom.tools.failures import CommandLineError

USAGE = "onnxloom-opt [INPUT] [-p 'PASS,PASS{option=value}'] [-t TARGET] [-o FILE] [options]"

EPILOG = """exit codes: 0 ok; 1 the input is at fault; 2 the command line is at fault; 3 internal error.
The environment variable ONNXLOOM_TRACEBACK=1 shows the traceback of any error."""


def register(parser: argparse.ArgumentParser, targets: Iterable[str]) -> None:
    """Add every option to the parser."""
    parser.prog = "onnxloom-opt"
    parser.usage = USAGE
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.error = _fail
    # What xDSL does for these two changes its classes for the whole process.
    parser.set_defaults(disable_verify=False, syntax_highlight=False)
    parser.add_argument("input_file", metavar="INPUT", nargs="?", help=".mlir or .onnx file (default: stdin)")
    parser.add_argument("-p", "--passes", default="", help="passes to run, in order; see --list-passes")
    parser.add_argument(
        "-t", "--target", default="mlir", help=f"what to print: {', '.join(targets)} (default: mlir)"
    )
    parser.add_argument("-o", "--output-file", metavar="FILE", help="write there instead of to stdout")
    parser.add_argument(
        "-f",
        "--frontend",
        metavar="NAME",
        help="how to read the input: mlir or onnx (default: told from the input)",
    )
    parser.add_argument(
        "--skip-pass",
        action="append",
        default=[],
        metavar="NAME",
        help="leave out this pass (repeatable; also ONNXLOOM_SKIP_PASSES)",
    )
    parser.add_argument(
        "--print-pipeline",
        metavar="LEVEL",
        help="print the passes of O0, O1, O2 or O3 as -p takes them, and stop",
    )
    parser.add_argument("--list-passes", action="store_true", help="list passes with their options, and stop")
    parser.add_argument("--list-patterns", action="store_true", help="list rewrite patterns, and stop")
    parser.add_argument("-v", "--version", action="store_true", help="print versions, and stop")
    _input_options(parser.add_argument_group("input"))
    _printing_options(parser.add_argument_group("printing"))
    _watching_options(parser.add_argument_group("checking and watching (all on stderr)"))


def _fail(message: str) -> NoReturn:
    """One line instead of argparse's usage text."""
    raise CommandLineError(f"{message} (see --help)")


def _input_options(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    group.add_argument(
        "--split-input-file",
        action="store_true",
        help="process the pieces between `// -----` lines one by one",
    )
    group.add_argument(
        "--load-plugin",
        action="append",
        default=[],
        metavar="PATH",
        help="Python file or package with fusion kinds, rewrite patterns or passes (repeatable)",
    )
    group.add_argument(
        "--weights-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="weights may be read from there too (repeatable; default: the folder of the input file, "
        "for stdin the working directory)",
    )
    group.add_argument("--allow-unregistered-dialect", action="store_true", help="accept ops nobody declared")
    group.add_argument(
        "--no-implicit-module", action="store_true", help="the input must spell its builtin.module itself"
    )


def _printing_options(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    group.add_argument(
        "--elide-weights", action="store_true", help="print weights without data (for reading only)"
    )
    group.add_argument(
        "--weights-out", metavar="FILE", help="write weights that no file holds there and refer to them"
    )
    group.add_argument("--print-op-generic", action="store_true", help="print every op in the generic form")
    group.add_argument("--print-no-properties", action="store_true", help="print properties as attributes")
    group.add_argument("--print-debuginfo", action="store_true", help="print locations")


def _watching_options(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    group.add_argument(
        "--verify-each",
        action="store_true",
        default=bool(os.environ.get("ONNXLOOM_VERIFY_EACH")),
        help="verify the IR, dominance included, after each pass, not just at both ends",
    )
    group.add_argument("--disable-verify", dest="trust", action="store_true", help="verify nothing")
    group.add_argument(
        "--verify-diagnostics",
        action="store_true",
        help="check that the errors are those of the `// expected-error@+1 {{text}}` comments",
    )
    group.add_argument(
        "--print-ir-before", nargs="?", const="*", metavar="PASS", action="append", default=[],
        help="print the IR before that pass (before each)",
    )  # fmt: skip
    group.add_argument(
        "--print-ir-after", nargs="?", const="*", metavar="PASS", action="append", default=[],
        help="print the IR after that pass (after each)",
    )  # fmt: skip
    group.add_argument(
        "--print-ir-after-change", action="store_true", help="print the IR after each pass that changed it"
    )
    group.add_argument("--time-passes", action="store_true", help="time of each pass")
    group.add_argument(
        "--report", action="store_true", help="what passes say they did and declined, with reasons"
    )
    group.add_argument("--statistics", action="store_true", help="number of ops before and after each pass")
