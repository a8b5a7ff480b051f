"""`python -m benchmarks.run [GROUP ...] [--threads N] [--json FILE] [--picture FILE.svg]`: figures and goals.

Groups are op cases, the built-in architectures, their 8-bit versions, and the fetched models (`make models`).
Each model is run by onnxruntime and onnxloom in turns in this process; ratios are onnxruntime's time / ours,
medians over rounds: CPU time for one thread, wall time for several. The last table compares each group with
its goal.
"""

from __future__ import annotations

import argparse
import gc
import json
import pathlib
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from benchmarks.groups import SMALL, Subject, group_names, subjects
from benchmarks.verdicts import Ratio, verdict_lines
from onnxloom.errors import OnnxloomError
from onnxloom.lowering.compile import CompileOptions
from onnxloom.lowering.roofline.machine import Machine, measure_machine
from onnxloom.tools.benchmarking.comparing import Measuring, ModelFigures, compare_model, compiled_subject
from onnxloom.tools.benchmarking.figures_table import as_json
from onnxloom.tools.benchmarking.picture import picture
from onnxloom.tools.benchmarking.plan_listing import machine_line

PEER: Final = "onnxruntime"


def measure(subject: Subject, how: Measuring, machine: Machine, options: CompileOptions) -> ModelFigures:
    """The figures of one model."""
    inspected = compiled_subject(str(subject.path), options, how.threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # steps in Python have a column
        return compare_model(subject.name, str(subject.path), subject.feeds, inspected, how, machine)


def group_of(subject: Subject, figures: ModelFigures) -> str:
    """Fetched models are told apart by what was found out."""
    if subject.group != "fetched":
        return subject.group
    if figures.host_steps:
        return "with-host-steps"
    return "small" if figures.peers[PEER].seconds < SMALL else "large"


def line_of(group: str, figures: ModelFigures) -> str:
    """One model in one line."""
    peer = figures.peers[PEER]
    low, high = peer.confidence
    steps = f"  {figures.host_steps:g} in Python" if figures.host_steps else ""
    return (
        f"{group:16} {figures.name:38} ort {peer.seconds * 1e3:9.3f} ms  ours {figures.seconds * 1e3:9.3f}"
        f"  limit {figures.limit * 1e3:9.3f}  ratio {peer.ratio:5.2f} [{low:.2f}, {high:.2f}]"
        f"  difference {peer.error:.0e}{steps}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the tables; 1 when a model could not be measured."""
    args = _arguments(argv)
    peers = (PEER,)
    how = Measuring(peers, args.threads, args.rounds, args.seconds, bool(args.json or args.picture))
    options = CompileOptions(opt_level=args.level, cache=not args.no_cache)
    machine = measure_machine()
    print(machine_line(machine))
    found: list[tuple[Subject, str, ModelFigures]] = []
    failed = 0
    with tempfile.TemporaryDirectory(prefix="onnxloom-bench-") as folder:
        for subject in subjects(args.groups or group_names(), pathlib.Path(folder), args.models):
            if args.only and not any(part in subject.name for part in args.only.split(",")):
                continue
            try:
                figures = measure(subject, how, machine, options)
            except Exception as error:  # whatever it is, the other models are measured, and it counts
                reason = error if isinstance(error, OnnxloomError) else f"{type(error).__name__}: {error}"
                print(f"{subject.group:16} {subject.name:38} {reason}", flush=True)
                failed += 1
                continue
            group = group_of(subject, figures)
            found.append((subject, group, figures))
            print(line_of(group, figures), flush=True)
            gc.collect()  # sessions of both sides hold the weights
    for line in verdict_lines([_ratio(*entry) for entry in found]):
        print(line)
    _write(args, found, how, machine)
    return 1 if failed else 0


def _ratio(subject: Subject, group: str, figures: ModelFigures) -> Ratio:
    return Ratio(group, figures.name, subject.family, figures.peers[PEER].ratio)


def _write(
    args: Any, found: Sequence[tuple[Subject, str, ModelFigures]], how: Measuring, machine: Machine
) -> None:
    models = [figures for _, _, figures in found]
    if args.json:
        data = as_json(models, how, machine)
        data["ratios"] = [asdict(_ratio(*entry)) for entry in found]
        args.json.write_text(json.dumps(data, indent=1))
    if args.picture:
        args.picture.write_text(picture(models, how.peers, machine))


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(group_names())}")
    parser.add_argument("--only", metavar="PART[,PART]", help="models whose names hold one of these")
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path(".models"), metavar="FOLDER")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--rounds", type=int, default=15, metavar="N")
    parser.add_argument("--seconds", type=float, default=0.05, metavar="S", help="length of a turn")
    parser.add_argument("--level", type=int, default=3, metavar="O", help="optimization level")
    parser.add_argument("--no-cache", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--picture", type=pathlib.Path, metavar="FILE.svg")
    args = parser.parse_args(argv)
    for name in args.groups:
        if name not in group_names():
            parser.error(f"no group {name!r}: there are {', '.join(group_names())}")
    return args


if __name__ == "__main__":
    sys.exit(main())
