"""How is a small failing graph kept? As IR text whose first lines hold the inputs."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import onnx.printer
from host_graph import Host
from onnx import ModelProto, TensorProto, helper, numpy_helper
from random_graphs import RandomGraph

from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects.onnx.dtypes import dtype_of_element, element_of_proto
from onnxloom.dialects.onnx.text import parse_module, print_module
from onnxloom.errors import OnnxloomError
from random_checks.failure import Failure

CASES = Path(__file__).parents[2] / "random" / "cases" / "Inputs"


def load_case(path: Path) -> RandomGraph:
    """The graph of a case, with its inputs and what the host gives for them."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    comment = "//" if path.suffix == ".mlir" else "#"
    feeds = dict(_read_feed(line) for line in lines if line.startswith(f"{comment} feed "))
    if path.suffix == ".mlir":
        model = export_model(parse_module(text))
    else:
        model = onnx.parser.parse_model("\n".join(line for line in lines if not line.startswith(comment)))
    names = [output.name for output in model.graph.output]
    return RandomGraph(model, feeds, dict(zip(names, Host().graph(model.graph, feeds), strict=True)))


def keep_case(graph: RandomGraph, failure: Failure, folder: Path, name: str) -> Path:
    """Writes a case; `.mlir`, or `.onnxtxt` for a model that cannot be imported."""
    folder.mkdir(parents=True, exist_ok=True)
    text = _ir_text(graph)
    comment, suffix = ("#", ".onnxtxt") if text is None else ("//", ".mlir")
    head = [f"{comment} {failure}", *(f"{comment} feed {_feed(n, a)}" for n, a in graph.feeds.items())]
    path = folder / f"{name}{suffix}"
    body = text if text is not None else onnx.printer.to_text(_readable(graph.model))
    path.write_text("\n".join([*head, body]), encoding="utf-8")
    return path


def case_paths() -> Iterable[Path]:
    """All cases that are kept."""
    return sorted(path for path in CASES.iterdir() if path.suffix in (".mlir", ".onnxtxt"))


def _ir_text(graph: RandomGraph) -> str | None:
    stream = io.StringIO()
    try:
        print_module(import_model(graph.model), stream)
        parse_module(stream.getvalue())
        export_model(parse_module(stream.getvalue()))
    except (OnnxloomError, ValueError):
        return None
    return None if "onnx.weights" in stream.getvalue() else stream.getvalue()


def _feed(name: str, array: np.ndarray[Any, Any]) -> str:
    code = helper.np_dtype_to_tensor_dtype(array.dtype)
    numbers = array.reshape(-1).tolist()
    dims = "x".join(map(str, array.shape)) or "scalar"
    return f"{name} {TensorProto.DataType.Name(code)} {dims} {' '.join(map(repr, numbers))}".rstrip()


def _read_feed(line: str) -> tuple[str, np.ndarray[Any, Any]]:
    _, _, name, kind, dims, *numbers = line.split()
    dtype = dtype_of_element(element_of_proto(TensorProto.DataType.Value(kind)))
    shape = [] if dims == "scalar" else [int(dim) for dim in dims.split("x")]
    values = [_number(text) for text in numbers]
    assert len(values) == math.prod(shape), line
    return name, np.array(values).astype(dtype).reshape(shape)


def _number(text: str) -> float | int | bool:
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _readable(model: ModelProto) -> ModelProto:
    """Initializers as numbers: text cannot hold their bytes."""
    copy = ModelProto.FromString(model.SerializeToString())
    for tensor in copy.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if tensor.data_type not in (TensorProto.BFLOAT16, TensorProto.FLOAT16):
            flat = array.reshape(-1).tolist()
            tensor.CopyFrom(helper.make_tensor(tensor.name, tensor.data_type, array.shape, flat))
    return copy
