"""How do the figures of models look as a table, and as JSON?"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from onnxloom.tools.benchmarking.comparing import Measuring, ModelFigures
from onnxloom.tools.benchmarking.text_table import aligned

if TYPE_CHECKING:
    from onnxloom.lowering.roofline.machine import Machine


def table_lines(models: Sequence[ModelFigures], how: Measuring) -> Iterator[str]:
    """One line per model; and the geometric mean of several."""
    head = ["model", "ms", "limit ms"]
    for peer in how.peers:
        head += [f"{peer} ms", "ratio", "95 %", "difference"]
    with_reference = any(model.reference_error is not None for model in models)
    if with_reference:
        head += ["error", *(f"{peer}'s" for peer in how.peers)]
    head.append("in Python")
    yield from aligned([head, *(_row(model, how, with_reference) for model in models)], left=(0,))
    if len(models) > 1:
        for peer in how.peers:
            ratios = [model.peers[peer].ratio for model in models]
            yield f"geometric mean of {peer} / onnxloom: {geometric_mean(ratios):.3f} ({len(ratios)} models)"


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers; NaN of none."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def _row(model: ModelFigures, how: Measuring, with_reference: bool) -> list[str]:
    row = [model.name, _milliseconds(model.seconds), _milliseconds(model.limit)]
    for peer in how.peers:
        found = model.peers[peer]
        low, high = found.confidence
        row += [
            _milliseconds(found.seconds), f"{found.ratio:.2f}", f"{low:.2f}-{high:.2f}", f"{found.error:.1e}",
        ]  # fmt: skip
    if with_reference:
        errors = [model.reference_error, *(model.peers[peer].reference_error for peer in how.peers)]
        row += ["-" if error is None else f"{error:.1e}" for error in errors]
    return [*row, f"{model.host_steps:g}" if model.host_steps else ""]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}"


def as_json(models: Sequence[ModelFigures], how: Measuring, machine: Machine) -> dict[str, Any]:
    """All figures, and what they were measured with."""
    return {
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in ("onnxloom", "numpy", "llvmlite", *how.peers)},
        "clock": "CPU time of the thread" if how.threads == 1 else "wall time",
        "measuring": asdict(how),
        "limits": asdict(machine),
        "models": [asdict(model) for model in models],
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
