"""What does a process cost that loads a model and runs it once? CPU time from its start, and peak memory.

Each figure is that of a process of its own; the contestants take turns. onnxruntime reads the ONNX file,
onnxloom the file that `onnxloom compile` makes of it. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.groups import Subject, subjects
from onnxloom.lowering.compile import CompileOptions, compile_model

_END: Final = """
import json, re, time
seconds = time.process_time()
peak = int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
print(json.dumps([seconds, peak]))
"""
"""Not `getrusage`: its peak is at least that of the process that started this one."""
_START: Final = """
import sys
import numpy as np
feeds = dict(np.load(sys.argv[2]))
"""
_SCRIPTS: Final = {
    "ort": _START + """
import onnxruntime
onnxruntime.set_default_logger_severity(3)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
onnxruntime.InferenceSession(sys.argv[1], options).run(None, feeds)
""" + _END,
    "ours": _START + """
import onnxloom
onnxloom.load(sys.argv[1], threads=1).run(feeds)
""" + _END,
}  # fmt: skip

SMALL: Final = ("dtln_1", "magika_v1", "oww_embedding", "silero_vad_v6", "swift_f0")
"""Fetched models under 5 MB."""


@dataclass(frozen=True)
class Cost:
    """One process: seconds of CPU time until the first outputs are there, and bytes of peak memory."""

    seconds: float
    peak: float


@dataclass(frozen=True)
class Comparison:
    """Costs of both contestants, round by round."""

    name: str
    theirs: Sequence[Cost]
    ours: Sequence[Cost]

    def ratio(self, what: str) -> float:
        """The median over rounds of theirs / ours."""
        pairs = zip(self.theirs, self.ours, strict=True)
        return statistics.median(getattr(a, what) / getattr(b, what) for a, b in pairs)

    def median(self, who: str, what: str) -> float:
        return statistics.median(getattr(cost, what) for cost in getattr(self, who))


def comparisons(args: argparse.Namespace) -> Iterator[Comparison]:
    """One comparison per model of the command line."""
    for subject in _wanted(args):
        with tempfile.TemporaryDirectory() as folder:
            yield compare(subject, Path(folder), args.rounds)


def parse(description: str | None) -> argparse.Namespace:
    """The command line of both programs."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "names", nargs="*", metavar="MODEL", default=["resnet50", "bert_base", *SMALL],
        help="architectures and fetched models (default: resnet50 bert_base and five small ones)",
    )  # fmt: skip
    parser.add_argument(
        "--models", dest="folder", type=Path, default=Path(".models"), help="where fetched models are"
    )
    parser.add_argument("--rounds", type=int, default=7)
    return parser.parse_args()


def _wanted(args: argparse.Namespace) -> Iterator[Subject]:
    with tempfile.TemporaryDirectory() as folder:
        for name in args.names:
            inputs = args.folder / name / "inputs.npz"
            if inputs.is_file():
                path = args.folder / name / "model.onnx"
                with np.load(inputs) as loaded:
                    yield Subject("fetched", name, path, dict(loaded))
            elif name in SMALL:
                print(f"{name}: not in {args.folder} (make models fetches it)", file=sys.stderr)
            else:
                yield from subjects([name], Path(folder), args.folder)


def compare(subject: Subject, folder: Path, rounds: int) -> Comparison:
    """Compiles a model, then starts processes in turns."""
    compiled, inputs = folder / "model.loom", folder / "inputs.npz"
    np.savez(inputs, **subject.feeds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = compile_model(str(subject.path), CompileOptions(cache=False))
        model.run(subject.feeds)
    model.save(compiled)
    del model
    files = {"ort": subject.path, "ours": compiled}
    for who, file in files.items():
        _cost(who, file, inputs)  # its modules are compiled, its files in memory
    costs: dict[str, list[Cost]] = {who: [] for who in files}
    for _ in range(rounds):
        for who, file in files.items():
            costs[who].append(_cost(who, file, inputs))
    return Comparison(subject.name, costs["ort"], costs["ours"])


def _cost(who: str, file: Path, inputs: Path) -> Cost:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-W", "ignore", "-c", _SCRIPTS[who], str(file), str(inputs)]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600, env=environment)
    return Cost(*json.loads(said.stdout.splitlines()[-1]))
