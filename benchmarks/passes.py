"""`python -m benchmarks.passes [OPS]`: CPU time of the passes over large models, and how it grows.

Three models of OPS and of half as many ops (default 10,000): blocks of a network whose chains fold, fuse and
match patterns, at O2; a chain of constants, which folds to one; a chain of Transposes, which rewrites to one.
A cost that grows linearly doubles from the first column to the second. Nothing is compiled.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects.onnx.text import make_context
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.transforms.folding.evaluator import use_evaluator
from onnxloom.transforms.pass_manager.pass_runner import run_pipeline
from onnxloom.transforms.pipelines import pipeline

WIDTH: Final = 8
_helper: Final = cast(Any, helper)


def network(ops: int) -> onnx.ModelProto:
    """Blocks of ten ops: a product, a decomposed Swish, a cancelled pair, a shape that is computed, a sum."""
    nodes: list[NodeProto] = []
    value = "x"
    for block in range(ops // 10):
        at = f"b{block}"

        def add(op: str, inputs: list[str], *, at: str = at, **attributes: Any) -> str:
            name = f"{at}_{len(nodes)}"
            nodes.append(_helper.make_node(op, inputs, [name], name=f"n{name}", **attributes))
            return name

        product = add("MatMul", [value, "w"])
        swish = add("Mul", [product, add("Sigmoid", [product])])
        turned = add("Transpose", [add("Transpose", [swish], perm=[1, 0])], perm=[1, 0])
        shape = add("Concat", [add("Gather", [add("Shape", [turned]), "zero"], axis=0), "eight"], axis=0)
        value = add("Add", [add("Reshape", [turned, shape]), value])
    weights = {
        "w": (np.eye(WIDTH) / 2).astype(np.float32),
        "zero": np.array([0]),
        "eight": np.array([WIDTH]),
    }
    return _model(nodes, value, weights)


def constants(ops: int) -> onnx.ModelProto:
    """A chain of additions of constants, added to the input in the end."""
    names = ["one", *(f"c{i}" for i in range(ops - 1))]
    nodes = [_helper.make_node("Add", [a, "one"], [b]) for a, b in zip(names, names[1:], strict=False)]
    nodes.append(_helper.make_node("Add", ["x", names[-1]], ["y"]))
    return _model(nodes, "y", {"one": np.ones(WIDTH, np.float32)})


def transposes(ops: int) -> onnx.ModelProto:
    """A chain of Transposes."""
    names = ["x", *(f"t{i}" for i in range(ops))]
    pairs = zip(names, names[1:], strict=False)
    return _model([_helper.make_node("Transpose", [a], [b], perm=[1, 0]) for a, b in pairs], names[-1], {})


def _model(nodes: list[NodeProto], output: str, weights: dict[str, Any]) -> onnx.ModelProto:
    x = _helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", WIDTH])
    y = _helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = _helper.make_graph(nodes, "g", [x], [y], initializers)
    return _helper.make_model(graph, opset_imports=[_helper.make_opsetid("", 21)], ir_version=10)


def seconds(model: onnx.ModelProto, level: int) -> tuple[float, int, int]:
    """CPU seconds of the passes of a level; ops before and after."""
    module = import_model(model)
    before = _count(module)
    start = time.process_time()
    with use_evaluator(HostEvaluator()):
        run_pipeline(module, make_context(), pipeline(level), strict=True)
    return time.process_time() - start, before, _count(module)


def _count(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk())


CASES: Final[dict[str, tuple[Callable[[int], onnx.ModelProto], int]]] = {
    "network, O2": (network, 2),
    "constant chain, O1": (constants, 1),
    "Transpose chain, O1": (transposes, 1),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.passes", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("ops", nargs="?", type=int, default=10_000, help="size of the models (default 10000)")
    ops = parser.parse_args().ops
    for name, (build, level) in CASES.items():
        half, whole = seconds(build(ops // 2), level), seconds(build(ops), level)
        print(
            f"{name:20} {ops // 2:6} ops {half[0]:6.2f} s   {ops:6} ops {whole[0]:6.2f} s"
            f"   (x{whole[0] / half[0]:.1f}), {whole[1]} -> {whole[2]} ops of IR",
            flush=True,
        )


if __name__ == "__main__":
    main()
