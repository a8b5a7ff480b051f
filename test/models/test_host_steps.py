"""No op on the forward path of a real model runs in Python, but for sequences, strings and control flow."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from numerics import compiled
from onnx import TensorProto

import onnxloom
from onnxloom.lowering.runtime.model import CompiledModel

CONTROL_FLOW = ("If", "Loop", "Scan")
SEQUENCES = (
    "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
    "SequenceMap", "SplitToSequence", "ConcatFromSequence", "Optional", "OptionalGetElement",
    "OptionalHasElement", "ai.onnx.ml.ZipMap",
)  # fmt: skip
STRINGS = ("StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch", "TfIdfVectorizer")
ALLOWED = frozenset((*CONTROL_FLOW, *SEQUENCES, *STRINGS))
"""Ops whose values kernels do not hold, or that decide what runs."""

INDEX = Path(__file__).resolve().parents[2] / "tools" / "models.json"
NAMES: tuple[str, ...] = tuple(entry["name"] for entry in json.loads(INDEX.read_text()))


def on_host(model: CompiledModel, feeds: Mapping[str, Any]) -> list[str]:
    """Titles of the steps that ran in Python and should not have to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", onnxloom.HostStepWarning)
        model.run(feeds)
    return sorted(title for title in model.host_counts if title.split()[0] not in ALLOWED)


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_forward_paths_are_compiled(models_dir: Path, name: str) -> None:
    folder = models_dir / name
    if not (folder / "inputs.npz").exists():
        pytest.skip(f"{folder} is not there: fetch it with `make models`")
    with np.load(folder / "inputs.npz", allow_pickle=True) as archive:
        feeds = dict(archive)
    assert on_host(onnxloom.compile(folder / "model.onnx"), feeds) == []


def test_an_op_without_a_kernel_is_noticed() -> None:
    """ZipMap is allowed, Multinomial is not."""
    nodes = [
        oh.make_node("Multinomial", ["x"], ["y"], "drawn", sample_size=2),
        oh.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]),
    ]
    given = [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])]
    graph = oh.make_graph(nodes, "g", given, [oh.make_empty_tensor_value_info(name) for name in "yz"])
    opsets = [oh.make_opsetid("", 21), oh.make_opsetid("ai.onnx.ml", 5)]
    model = compiled(oh.make_model(graph, opset_imports=opsets, ir_version=10))
    assert on_host(model, {"x": np.zeros((1, 2), np.float32)}) == ['Multinomial "drawn"']
    assert "ai.onnx.ml.ZipMap" in model.host_counts
