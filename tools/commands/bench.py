"""How fast is a model, and how fast is it elsewhere? MODEL is an ONNX file, a folder of models (each fed with
the .npz file beside it, if there is one), a fetched model, or an architecture of benchmarks/ by name.

All contestants run in one process, in turns. A ratio is the peer's time over onnxloom's, the median over
rounds: above 1 onnxloom is faster; the interval holds it with a probability of 95 %. One thread is timed by
its CPU time, several by wall time. `limit` is the least time of our kernels, by what they compute and move
and what the processor can do, measured in the same run. `difference` is the largest difference of outputs
over their range.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxloom.errors import InputError, OnnxloomError
from onnxloom.tools.benchmarking.contestants import PEERS, is_installed
from onnxloom.tools.commands.run import add_compile_arguments, add_input_arguments
from onnxloom.tools.failures import EXIT_INPUT, EXIT_OK, CommandLineError
from onnxloom.tools.streams import complain, say

if TYPE_CHECKING:
    from onnxloom.lowering.roofline.machine import Machine
    from onnxloom.tools.benchmarking.comparing import Measuring, ModelFigures
    from onnxloom.tools.benchmarking.subjects import BenchSubject

HELP = "compare the speed of models with that of other runtimes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="+", metavar="MODEL", help="file, folder, or name")
    parser.add_argument(
        "--against", default="onnxruntime", metavar="PEER[,PEER]", help=f"of {', '.join(PEERS)}"
    )
    parser.add_argument("--threads", type=_positive, default=1, metavar="N", help="of each (default 1)")
    parser.add_argument(
        "--rounds", type=_positive, default=15, metavar="N", help="turns of each (default 15)"
    )
    parser.add_argument(
        "--seconds", type=_seconds, default=0.05, metavar="S", help="length of a turn (default 0.05)"
    )
    parser.add_argument(
        "--reference", metavar="FILE.npz", help="outputs computed in float64: errors of all to these"
    )
    parser.add_argument(
        "--tolerance", type=_tolerance, default=0.02, metavar="X",
        help="largest difference of outputs that is no failure (default 0.02 of their range)",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument("--picture", metavar="FILE.svg", help="draw ratios, and kernels under the roofline")
    parser.add_argument("--profile", action="store_true", help="time every kernel against its limit")
    add_input_arguments(parser)
    add_compile_arguments(parser)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return seconds


def _tolerance(text: str) -> float:
    try:
        tolerance = float(text)
    except ValueError:
        tolerance = math.nan
    if not tolerance >= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of at least 0")
    return tolerance


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of at least 1")
    return int(text)


def run(args: argparse.Namespace) -> int:
    from onnxloom.lowering.roofline.machine import measure_machine
    from onnxloom.tools.benchmarking.figures_table import table_lines

    how = _measuring(args)
    if args.picture is not None and not args.picture.endswith(".svg"):
        raise CommandLineError(f"--picture {args.picture}: expected a name that ends in .svg")
    with tempfile.TemporaryDirectory(prefix="onnxloom-bench-") as folder:
        subjects = _subjects(args, Path(folder))
        machine = measure_machine()
        found, failed = _measure_all(subjects, args, how, machine)
    for line in table_lines(found, how) if found else ():
        say(line)
    wrong = [line for model in found for line in _disagreements(model, args.tolerance)]
    for line in wrong:
        say(line)
    _write_files(args, found, how, machine)
    return EXIT_INPUT if wrong or failed else EXIT_OK


def _measuring(args: argparse.Namespace) -> Measuring:
    """Peers that are installed.

    Raises:
        CommandLineError: others are named than there are.
        InputError: none is left.
    """
    from onnxloom.tools.benchmarking.comparing import Measuring

    named = tuple(dict.fromkeys(name.strip() for name in args.against.split(",") if name.strip()))
    for name in named:
        if name not in PEERS:
            raise CommandLineError(f"--against {name}: expected {' or '.join(PEERS)}")
    missing = [name for name in named if not is_installed(name)]
    peers = tuple(name for name in named if name not in missing)
    for name in missing if peers else ():
        complain(f"onnxloom: note: {name} is not installed (pip install {name}); it is left out")
    if not named:
        raise CommandLineError(f"--against {args.against}: no peer is named; expected {' or '.join(PEERS)}")
    if not peers:
        raise InputError(f"--against {args.against}: not installed (pip install {' '.join(missing)})")
    kernels = args.profile or args.picture is not None or args.json is not None
    return Measuring(peers, args.threads, args.rounds, args.seconds, kernels)


def _subjects(args: argparse.Namespace, folder: Path) -> list[BenchSubject]:
    from onnxloom.tools.benchmarking.subjects import find_subjects

    subjects = [subject for target in args.model for subject in find_subjects(target, folder)]
    if len(subjects) > 1 and (args.inputs or args.input or args.reference):
        raise CommandLineError("--inputs, --input and --reference are for one model")
    return subjects


def _measure_all(
    subjects: list[BenchSubject], args: argparse.Namespace, how: Measuring, machine: Machine
) -> tuple[list[ModelFigures], bool]:
    """The figures, and whether some model could not be measured."""
    found: list[ModelFigures] = []
    for subject in subjects:
        try:
            found.append(_measure(subject, args, how, machine))
        except OnnxloomError as error:
            if len(subjects) == 1:
                raise
            complain(f"onnxloom: error: {subject.name}: {' '.join(str(error).split())}")
    return found, len(found) < len(subjects)


def _measure(
    subject: BenchSubject, args: argparse.Namespace, how: Measuring, machine: Machine
) -> ModelFigures:
    from onnxloom.tools.benchmarking.comparing import compare_model, compiled_subject
    from onnxloom.tools.benchmarking.profile_listing import profile_table
    from onnxloom.tools.commands.run import compile_options, feeds_for
    from onnxloom.tools.model_inputs import load_npz
    from onnxloom.tools.progress import ProgressLine

    with ProgressLine(f"compiling {subject.name}") as progress:
        inspected = compiled_subject(subject.path, compile_options(args, progress), how.threads)
    own = argparse.Namespace(**{**vars(args), "inputs": args.inputs or subject.inputs})
    feeds: dict[str, Any] = feeds_for(own, inspected.model).arrays
    reference = load_npz(args.reference) if args.reference is not None else None
    figures = compare_model(subject.name, subject.path, feeds, inspected, how, machine, reference)
    if args.profile:
        say(f"{subject.name}:")
        for line in profile_table(figures.kernels):
            say(line)
    return figures


def _disagreements(model: ModelFigures, tolerance: float) -> list[str]:
    return [
        f"{model.name}: outputs differ from those of {peer} by {found.error:.2g} of their range"
        for peer, found in model.peers.items()
        if not found.error <= tolerance
    ]


def _write_files(
    args: argparse.Namespace, found: list[ModelFigures], how: Measuring, machine: Machine
) -> None:
    from onnxloom.dialects.output_file import OutputFile
    from onnxloom.tools.benchmarking.figures_table import as_json
    from onnxloom.tools.benchmarking.picture import picture

    if args.json is not None:
        with OutputFile(args.json) as file:
            file.write(json.dumps(as_json(found, how, machine), indent=1).encode())
    if args.picture is not None:
        with OutputFile(args.picture) as file:
            file.write(picture(found, how.peers, machine).encode())
