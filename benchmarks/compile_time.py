"""`python -m benchmarks.compile_time [MODEL ...]`: CPU time of a process that compiles a model, uncached.

With and without the imports, and stage by stage. The goal is under 4 s for ResNet-50 and BERT-base.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.groups import subjects
from onnxloom.lowering.compile import STAGES
from onnxloom.tools.benchmarking.text_table import aligned

_SCRIPT: Final = """
import json, sys, time
import onnxloom.lowering.build_model, onnxloom.lowering.object_code
from onnxloom.lowering.compile import CompileOptions, compile_model
marks = [time.process_time()]
options = CompileOptions(cache=False, progress=lambda what, stage, stages: marks.append(time.process_time()))
compile_model(sys.argv[1], options)
print(json.dumps([*marks, time.process_time()]))
"""


def stages(path: str) -> list[float]:
    """Seconds of CPU time of one process: until all is imported, then stage by stage."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-W", "ignore", "-c", _SCRIPT, path]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600, env=environment)
    imported, _, *ends = json.loads(said.stdout.splitlines()[-1])
    starts = [0.0, imported, *ends]
    return [end - start for start, end in zip(starts, starts[1:], strict=False)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MODEL", default=["resnet50", "bert_base"])
    parser.add_argument("--models", type=Path, default=Path(".models"), metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    rows: list[Sequence[str]] = [("model", "CPU s", "without imports", "imports", *STAGES)]
    with tempfile.TemporaryDirectory() as folder:
        for subject in subjects(args.names, Path(folder), args.models):
            stages(str(subject.path))  # its modules are compiled
            rounds = [stages(str(subject.path)) for _ in range(args.rounds)]
            medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
            figures = [sum(medians), sum(medians[1:]), *medians]
            rows.append((subject.name, *[f"{figure:.2f}" for figure in figures]))
    print("\n".join(aligned(rows)))


if __name__ == "__main__":
    main()
