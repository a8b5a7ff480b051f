"""`python -m benchmarks.process_costs [FOLDER]`: what a process costs, each figure from processes of its own.

- cold compile: CPU time from the first import to a model compiled without any cache (stage by stage:
  `benchmarks.compile_time`);
- start: CPU time of a process that loads a model, runs it once and ends: onnxruntime from the ONNX file,
  onnxloom from what `onnxloom compile` wrote, in turns; the ratio is onnxruntime's time / ours;
- memory: the most that such a process had resident, ours / onnxruntime's.

The models are the built-in ResNet-50 and BERT-base, and those of FOLDER under 5 MB (as `make models` fetches
them).
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.architectures.files import write_model
from benchmarks.compile_time import stages
from benchmarks.processes import Cost, run_process
from onnxloom.tools.benchmarking.figures_table import geometric_mean

LARGE: Final = ("resnet50", "bert_base")
SMALL_BYTES: Final = 5 << 20
ROUNDS: Final = 5

COMPILE_SECONDS: Final = 4.0
START_LARGE: Final = 1.0
START_SMALL: Final = 0.77
MEMORY: Final = 1.0

_FEEDS: Final = """
import sys
import numpy as np
with np.load(sys.argv[2]) as loaded:
    feeds = dict(loaded)
"""

_OURS: Final = """
import onnxloom
model = onnxloom.load(sys.argv[1], threads=1)
model.run(feeds)
"""

_THEIRS: Final = """
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.log_severity_level = 3
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
session.run(None, feeds)
"""


@dataclass(frozen=True)
class Start:
    """What loading and running a model once costs both."""

    name: str
    ours: Cost
    theirs: Cost
    ratio: float
    """Median of the ratios of CPU times, onnxruntime's / ours."""

    @property
    def memory(self) -> float:
        return self.ours.bytes / self.theirs.bytes


def start_cost(name: str, path: str, inputs: str, folder: pathlib.Path, rounds: int = ROUNDS) -> Start:
    """Of loading and running once, in turns."""
    compiled = str(folder / "model.loom")
    command = [sys.executable, "-W", "ignore", "-m", "onnxloom.tools.cli", "compile", path, "-o", compiled]
    subprocess.run(command, capture_output=True, check=True)
    run_process(_FEEDS + _OURS, compiled, inputs)  # files in the page cache, as those of the peer
    run_process(_FEEDS + _THEIRS, path, inputs)
    pairs = [
        (run_process(_FEEDS + _OURS, compiled, inputs), run_process(_FEEDS + _THEIRS, path, inputs))
        for _ in range(rounds)
    ]
    ratio = statistics.median(theirs.seconds / ours.seconds for ours, theirs in pairs)
    return Start(name, _median([ours for ours, _ in pairs]), _median([theirs for _, theirs in pairs]), ratio)


def _median(costs: Sequence[Cost]) -> Cost:
    seconds = statistics.median(cost.seconds for cost in costs)
    return Cost(seconds, int(statistics.median(cost.bytes for cost in costs)))


def small_models(models: pathlib.Path) -> Iterator[tuple[str, str, str]]:
    """Name, model and inputs of each fetched model under 5 MB."""
    for path in sorted(models.glob("*/model.onnx")):
        if path.stat().st_size < SMALL_BYTES and (path.parent / "inputs.npz").is_file():
            yield path.parent.name, str(path), str(path.parent / "inputs.npz")


def start_line(start: Start) -> str:
    return (
        f"start     {start.name:40} onnxruntime {start.theirs.seconds:6.3f} s  ours {start.ours.seconds:6.3f}"
        f"  ratio {start.ratio:5.2f}  memory {start.ours.bytes / 1e6:7.1f} MB of"
        f" {start.theirs.bytes / 1e6:7.1f}: {start.memory:4.2f}"
    )


def verdict(title: str, value: float, goal: float, is_least: bool) -> str:
    reached = value >= goal if is_least else value <= goal
    bound = "at least" if is_least else "at most"
    return f"{title}: {value:.2f}, goal {bound} {goal:.2f}: {'reached' if reached else 'missed'}"


def main(argv: Sequence[str]) -> int:
    """Prints the figures, then what they are to be."""
    models = pathlib.Path(argv[0] if argv else ".models")
    verdicts: list[str] = []
    with tempfile.TemporaryDirectory(prefix="onnxloom-bench-") as temporary:
        folder = pathlib.Path(temporary)
        for name in LARGE:
            path, inputs = str(folder / "model.onnx"), str(folder / "inputs.npz")
            write_model(name, path, inputs)
            seconds = sum(stages(path))
            print(f"compile   {name:40} {seconds:6.2f} s", flush=True)
            start = start_cost(name, path, inputs, folder)
            print(start_line(start), flush=True)
            verdicts += [
                verdict(f"cold compile of {name} (s)", seconds, COMPILE_SECONDS, is_least=False),
                verdict(f"start of {name}", start.ratio, START_LARGE, is_least=True),
                verdict(f"memory of {name}", start.memory, MEMORY, is_least=False),
            ]
        starts: list[Start] = []
        for small in small_models(models):
            starts.append(start_cost(*small, folder, rounds=3))
            print(start_line(starts[-1]), flush=True)
    if starts:
        mean = geometric_mean([start.ratio for start in starts])
        verdicts.append(
            verdict(f"start of {len(starts)} models under 5 MB", mean, START_SMALL, is_least=True)
        )
    for line in verdicts:
        print(line)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.process_costs", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", nargs="?", default=".models", help="of fetched models")
    sys.exit(main([parser.parse_args().folder]))
