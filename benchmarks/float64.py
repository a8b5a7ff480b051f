"""`python -m benchmarks.float64 [NAME ...]`: how far are outputs from those of an evaluation in float64?

Each architecture is turned into a model of f64 with the same weights, which is evaluated op by op on the
host: no pass and no kernel is involved. Errors are the largest difference over the range of an output, the
worst of all outputs; ours may be twice that of onnxruntime.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, numpy_helper

from benchmarks import architectures
from benchmarks.architectures.feeds import feeds_of
from onnxloom.conversion.onnx_import import import_model
from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.tools.benchmarking.agreement import outputs_error

TIMES: Final = 2.0


def as_float64(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same graph on f64; f32 is what becomes it, in weights, inputs, outputs and casts."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for tensor in wide.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            array = numpy_helper.to_array(tensor).astype(np.float64)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    for value in (*wide.graph.input, *wide.graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in wide.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    return wide


def evaluated(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs in float64, op by op on the host."""
    wide = {name: v.astype(np.float64) if v.dtype == np.float32 else v for name, v in feeds.items()}
    return evaluate_module(import_model(as_float64(model)), wide)


def errors(model: onnx.ModelProto, feeds: Mapping[str, Any], winograd: bool = True) -> tuple[float, float]:
    """Of ours and of onnxruntime with all optimizations."""
    want = evaluated(model, feeds)
    ours = compile_model(model, CompileOptions(cache=False, winograd=winograd)).run(feeds)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    theirs = dict(zip([o.name for o in session.get_outputs()], session.run(None, dict(feeds)), strict=True))
    return outputs_error(want, ours), outputs_error(want, theirs)


def main(names: Sequence[str]) -> int:
    """Prints a line for each; 1 when one is too far off."""
    missed = 0
    for name in names or architectures.NAMES:
        model = architectures.builder(name)()
        feeds = feeds_of(model, past=128)
        ours, theirs = errors(model, feeds)
        said = "reached" if ours <= TIMES * theirs else "missed"
        if said == "missed":
            exact, _ = errors(model, feeds, winograd=False)
            said += f" (without Winograd {exact:.1e}: {exact / theirs:.2f} times)"
        missed += said != "reached"
        print(
            f"{name:14} ours {ours:.1e}  onnxruntime {theirs:.1e}  {ours / theirs:5.2f} times, "
            f"goal at most {TIMES}: {said}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.float64", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    known = (*architectures.NAMES, *architectures.QUANTIZED)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    names = parser.parse_args().names
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"there is no architecture {unknown[0]!r}")
    sys.exit(main(names))
