"""`python -m benchmarks.compile_time [MODEL ...]`: CPU time of a process that compiles a model, uncached.

With and without the imports, and stage by stage.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.groups import subjects
from benchmarks.processes import run_process
from onnxloom.lowering.compile import STAGES
from onnxloom.tools.benchmarking.text_table import aligned

_COMPILE: Final = """
import sys, time
import onnxloom.lowering.build_model, onnxloom.lowering.object_code
from onnxloom.lowering.compile import CompileOptions, compile_model
marks = [time.process_time()]
options = CompileOptions(cache=False, progress=lambda what, stage, stages: marks.append(time.process_time()))
compile_model(sys.argv[1], options)
said = [*marks, time.process_time()]
"""


def stages(path: str) -> list[float]:
    """Seconds of CPU time of one process: until all is imported, then stage by stage."""
    imported, _, *ends = run_process(_COMPILE, path).said
    starts = [0.0, imported, *ends]
    return [end - start for start, end in zip(starts, starts[1:], strict=False)]


def main(argv: Sequence[str]) -> int:
    """Prints a table of medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MODEL", default=["resnet50", "bert_base"])
    parser.add_argument("--models", type=Path, default=Path(".models"), metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(argv)
    rows: list[Sequence[str]] = [("model", "CPU s", "without imports", "imports", *STAGES)]
    with tempfile.TemporaryDirectory() as folder:
        for subject in subjects(args.names, Path(folder), args.models):
            stages(str(subject.path))  # its modules are compiled
            rounds = [stages(str(subject.path)) for _ in range(args.rounds)]
            medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
            figures = [sum(medians), sum(medians[1:]), *medians]
            rows.append((subject.name, *[f"{figure:.2f}" for figure in figures]))
    print("\n".join(aligned(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
