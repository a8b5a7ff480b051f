"""Real models survive import -> text -> parse -> export with the same outputs, bit for bit.

The judge is onnxruntime without optimizations, on the original model and on the exported one. A small set
runs by default, all with `-m full`; run as a program, this prints the table of differences:

    python test/models/test_roundtrip.py [FOLDER]
"""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects.onnx.text import parse_module, print_module
from onnxloom.dialects.onnx.weights_source import weights_source

ort = pytest.importorskip("onnxruntime")
Array = np.ndarray[Any, Any]

SMALL = (
    "swift_f0", "magika_v1", "dtln_1", "pyfrspell_derive_int8", "chars2vec_en300", "silero_vad_v6",
    "silero_vad_half", "onnx_light_squeezenet", "ortds_mul_1", "ortds_logreg_iris",
)  # fmt: skip
"""Run by default: If four deep, recurrent, int8, float16, the oldest formats."""

INDEX = Path(__file__).resolve().parents[2] / "tools" / "models.json"
NAMES: tuple[str, ...] = tuple(entry["name"] for entry in json.loads(INDEX.read_text()))
NEWEST_RUNNABLE = 24
"""Newest opset the judge has kernels for throughout."""

NEWER_FORM_TOLERANCE = 2e-6
"""Largest difference over the largest value where the opset changes and with it the kernels of the judge:
its AveragePool of opset 19 rounds differently (1.0e-6 in ppocr_v4_rec)."""


def outputs_of(model: bytes, inputs: dict[str, Array]) -> list[Any]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def round_trip(path: Path, opset: int | None = None) -> onnx.ModelProto:
    stream = io.StringIO()
    print_module(import_model(path), stream)
    with weights_source(path.parent):
        return export_model(parse_module(stream.getvalue()), opset=opset)


def difference(have: Any, want: Any) -> float:
    """0 for the same bits, else the largest difference over the largest value; infinite for another form."""
    if not isinstance(want, np.ndarray):
        return 0.0 if repr(have) == repr(want) else np.inf
    if have.dtype != want.dtype or have.shape != want.shape:
        return np.inf
    if want.dtype.kind == "O":
        return 0.0 if have.tolist() == want.tolist() else np.inf
    if have.tobytes() == want.tobytes():
        return 0.0
    if want.dtype.kind != "f":
        return np.inf
    wide = want.astype(np.float64)
    return float(np.abs(have.astype(np.float64) - wide).max() / max(np.abs(wide).max(), 1e-30))


def opsets_of(model: onnx.ModelProto) -> dict[str, int]:
    return {entry.domain: entry.version for entry in model.opset_import}


def inputs_of(folder: Path) -> dict[str, Array]:
    with np.load(folder / "inputs.npz") as stored:
        return {name: stored[name] for name in stored.files}


def compare(folder: Path, opset: int | None = None) -> tuple[onnx.ModelProto, float]:
    """The exported model and the largest difference of its outputs."""
    path, inputs = folder / "model.onnx", inputs_of(folder)
    exported = round_trip(path, opset)
    want = outputs_of(path.read_bytes(), inputs)
    have = outputs_of(exported.SerializeToString(), inputs)
    assert len(have) == len(want)
    return exported, max(map(difference, have, want), default=0.0)


def fetched(models_dir: Path, name: str) -> Path:
    folder = models_dir / name
    if not (folder / "inputs.npz").is_file():
        pytest.skip(f"{name} is not fetched (make models)")
    return folder


def parameters() -> list[Any]:
    marks = {True: pytest.mark.fetched, False: pytest.mark.full}
    return [pytest.param(name, marks=marks[name in SMALL]) for name in NAMES]


@pytest.mark.parametrize("name", parameters())
def test_outputs_at_the_original_opset_are_the_same_bits(models_dir: Path, name: str) -> None:
    folder = fetched(models_dir, name)
    exported, worst = compare(folder)
    original = opsets_of(onnx.load(folder / "model.onnx"))
    assert all(original[domain] == version for domain, version in opsets_of(exported).items())
    onnx.checker.check_model(exported)
    assert worst == 0.0


@pytest.mark.parametrize("name", parameters())
def test_outputs_at_a_new_opset_are_the_same(models_dir: Path, name: str) -> None:
    exported, worst = compare(fetched(models_dir, name), NEWEST_RUNNABLE)
    assert opsets_of(exported).get("", NEWEST_RUNNABLE) == NEWEST_RUNNABLE
    assert worst <= NEWER_FORM_TOLERANCE


def main(models: Path) -> None:
    """Prints one line per model: what changed, and by how much."""
    rows: list[tuple[str, ...]] = []
    for name in NAMES:
        folder = models / name
        if not (folder / "inputs.npz").is_file():
            rows.append((name, "not fetched", "", ""))
            continue
        exported, same = compare(folder)
        _, newest = compare(folder, NEWEST_RUNNABLE)
        before, after = opsets_of(onnx.load(folder / "model.onnx")).get(""), opsets_of(exported).get("")
        rows.append((name, f"{before} -> {after}", f"{same:.1e}", f"{newest:.1e}"))
    for row in (("model", "opset", "difference", f"at opset {NEWEST_RUNNABLE}"), *rows):
        print("{:42} {:12} {:>10} {:>14}".format(*row))


if __name__ == "__main__":
    default = os.environ.get("ONNXLOOM_MODELS_DIR", ".models")
    main(Path(sys.argv[1] if len(sys.argv) > 1 else default))
