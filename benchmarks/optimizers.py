"""`python -m benchmarks.optimizers [FOLDER] [--models NAME,...] [--json FILE]`: how many ops are left?

Each model of FOLDER (as `make models` fetches them) is optimized by onnxloom at O1 and O2 and by onnxsim,
onnxslim and onnxscript, as far as they are installed (`pip install onnxloom[bench]`), each in a process of
its own. Ops are counted in the resulting ONNX files, inner graphs included, constants not. A result is run
by onnxruntime without optimizations: `!` marks one whose outputs are not those of the original model, `-` an
optimizer that failed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any, Final, cast

import numpy as np
import onnx

TOLERANCE: Final = {"float16": 2e-3, "float32": 2e-4, "float64": 2e-4}
"""Largest difference over the largest value; other types must be equal. The optimizations of onnxruntime make
8.9e-5 (ppocr_v4_det)."""

SECONDS: Final = 300
"""Given to one optimizer for one model."""

_onnx: Final = cast(Any, onnx)
"""Its functions have partial types."""


@dataclass(frozen=True)
class Cell:
    """What one optimizer made of one model."""

    ops: int | None
    """None: it failed, or was not done in time."""

    difference: float | None = None
    """Of the outputs; None where they could not be computed."""

    is_right: bool = False

    def __str__(self) -> str:
        if self.ops is None:
            return "-"
        return str(self.ops) if self.is_right else f"{self.ops} !"


def _onnxloom(level: int) -> Callable[[str, str], None]:
    def optimize(source: str, target: str) -> None:
        from onnxloom.conversion.onnx_export import save_model
        from onnxloom.conversion.onnx_import import import_model
        from onnxloom.tools.optimizing import Optimizing, optimize_module

        module = import_model(source)
        optimize_module(module, Optimizing(level=level, strict=True))
        save_model(module, target)

    return optimize


def _onnxsim(source: str, target: str) -> None:
    import onnxsim  # pyright: ignore[reportMissingImports]

    model, _ = onnxsim.simplify(_onnx.load(source))  # pyright: ignore
    _onnx.save(model, target)  # pyright: ignore[reportUnknownArgumentType]


def _onnxslim(source: str, target: str) -> None:
    import onnxslim  # pyright: ignore[reportMissingImports]

    _onnx.save(onnxslim.slim(_onnx.load(source)), target)  # pyright: ignore


def _onnxscript(source: str, target: str) -> None:
    from onnxscript import optimizer  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    _onnx.save(optimizer.optimize(_onnx.load(source)), target)  # pyright: ignore


OPTIMIZERS: Final[dict[str, Callable[[str, str], None]]] = {
    "onnxloom O1": _onnxloom(1),
    "onnxloom O2": _onnxloom(2),
    "onnxsim": _onnxsim,
    "onnxslim": _onnxslim,
    "onnxscript": _onnxscript,
}


def installed() -> list[str]:
    """The optimizers that can be run here."""
    return [name for name in OPTIMIZERS if find_spec(name.split()[0]) is not None]


def count_ops(graph: onnx.GraphProto) -> int:
    """Nodes but Constants, those of inner graphs too."""
    total = 0
    for node in graph.node:
        total += node.op_type != "Constant"
        for attribute in node.attribute:
            inner = [attribute.g] if attribute.HasField("g") else []
            total += sum(map(count_ops, (*inner, *attribute.graphs)))
    return total


def _count_all(model: onnx.ModelProto) -> int:
    """With the bodies of functions counted where they are defined: no optimizer here adds any."""
    bodies = (onnx.GraphProto(node=function.node) for function in model.functions)
    return count_ops(model.graph) + sum(map(count_ops, bodies))


def outputs_of(model: str, feeds: dict[str, Any]) -> list[Any]:
    """By onnxruntime, op by op."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def difference(have: Any, want: Any) -> float:
    """0 for equal outputs, else the largest difference over the largest finite value; infinite for another
    form, NaN where a NaN or an infinity stands in one only.
    """
    if getattr(want, "dtype", np.dtype(object)).kind == "O":
        return 0.0 if repr(have) == repr(want) else np.inf
    if have.dtype != want.dtype or have.shape != want.shape:
        return np.inf
    if np.array_equal(have, want, equal_nan=want.dtype.kind in "fc"):
        return 0.0
    if want.dtype.kind != "f":
        return np.inf
    unequal: Any = (have != want) & ~(np.isnan(have) & np.isnan(want))
    extent = np.abs(want[np.isfinite(want)], dtype=np.float64).max(initial=1e-30)
    with np.errstate(invalid="ignore"):
        apart = np.abs(have[unequal].astype(np.float64) - want[unequal].astype(np.float64))
        apart[np.isinf(apart)] = np.nan
        return float(apart.max() / extent)


def measure(folder: pathlib.Path, optimizer: str, want: list[Any], feeds: dict[str, Any]) -> Cell:
    """One optimizer on one model."""
    with tempfile.TemporaryDirectory() as scratch:
        target = str(pathlib.Path(scratch) / "out.onnx")
        command = [sys.executable, "-m", "benchmarks.optimizers", "--one", optimizer]
        try:
            done = subprocess.run(
                [*command, str(folder / "model.onnx"), target], capture_output=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return Cell(None)
        if done.returncode != 0 or not os.path.exists(target):
            return Cell(None)
        ops = _count_all(_onnx.load(target, load_external_data=False))
        try:
            have = outputs_of(target, feeds)
        except Exception:  # of the many kinds onnxruntime has: a result that does not run is wrong
            return Cell(ops)
    if len(have) != len(want):
        return Cell(ops)
    offs = [difference(got, wanted) for got, wanted in zip(have, want, strict=True)]
    limits = [TOLERANCE.get(getattr(wanted, "dtype", np.dtype(object)).name, 0.0) for wanted in want]
    is_right = all(off <= limit for off, limit in zip(offs, limits, strict=True))
    return Cell(ops, max(offs, default=0.0), is_right)


def table(folders: Iterable[pathlib.Path], optimizers: list[str]) -> list[dict[str, Any]]:
    """Prints one line per model, and gives the same as data."""
    width = max(12, *map(len, optimizers))
    print(f"{'model':36} {'original':>8} " + " ".join(f"{name:>{width}}" for name in optimizers))
    rows: list[dict[str, Any]] = []
    for folder in folders:
        with np.load(folder / "inputs.npz", allow_pickle=True) as stored:
            feeds = dict(stored)
        original = str(folder / "model.onnx")
        want = outputs_of(original, feeds)
        cells = {name: measure(folder, name, want, feeds) for name in optimizers}
        before = _count_all(_onnx.load(original, load_external_data=False))
        shown = " ".join(f"{cells[name]!s:>{width}}" for name in optimizers)
        print(f"{folder.name:36} {before:8} {shown}", flush=True)
        named = {name: asdict(cell) for name, cell in cells.items()}
        rows.append({"model": folder.name, "original": before, **named})
    return rows


def main(argv: list[str] | None = None) -> int:
    """Prints the table; returns 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(".models"))
    parser.add_argument("--models", help="names, separated by commas; default: all that are there")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--one", nargs=3, metavar=("OPTIMIZER", "IN", "OUT"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.one:
        name, source, target = args.one
        OPTIMIZERS[name](source, target)
        return 0
    names = args.models.split(",") if args.models else sorted(path.name for path in args.folder.iterdir())
    folders = [args.folder / name for name in names if (args.folder / name / "inputs.npz").exists()]
    rows = table(folders, installed())
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
