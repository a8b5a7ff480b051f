"""Tasks run in any order and on any worker: kernels are run task by task, backwards, by changing workers."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.lowering.plan import work
from onnxloom.lowering.plan.record import ALL_TASKS, HEADER, KERNEL_TYPE
from onnxloom.lowering.runtime import team

WORKERS = 3


class Backwards:
    """In place of a team: one thread plays all workers, and every task is a chunk."""

    def __init__(self) -> None:
        self.shared = 0

    def __call__(self, table: int, starts: int, begin: int, end: int) -> int:
        def word(address: int) -> int:
            return ctypes.c_int64.from_address(address).value

        for record in range(begin, end):
            at = table + 8 * word(starts + 8 * record)
            kernel, chunks, size = KERNEL_TYPE(word(at)), word(at + 8), word(at + 16)
            arguments = at + 8 * HEADER
            if not chunks:
                kernel(arguments, 0, ALL_TASKS, 0)
                continue
            self.shared += 1
            for chunk in reversed(range(chunks)):
                kernel(arguments, chunk * size, (chunk + 1) * size, chunk % WORKERS)
        return end


@pytest.fixture
def backwards(monkeypatch: pytest.MonkeyPatch) -> Backwards:
    monkeypatch.setattr(work, "MIN_LAUNCH", 0)
    monkeypatch.setattr(work, "MIN_CHUNK", 1)
    monkeypatch.setattr(work, "CHUNKS_PER_THREAD", 1 << 12)
    executor = Backwards()
    monkeypatch.setattr(team, "team_executor", lambda functions, threads: executor)  # pyright: ignore
    return executor


def _rng(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


CASES: dict[str, tuple[list[Any], dict[str, Any], dict[str, Any]]] = {
    # name: nodes (op, inputs, attributes), inputs, constants; the last node's output is the model's
    "chain of one dim": ([("Mul", "x x"), ("Exp", "."), ("Add", ". x")], {"x": _rng(9001)}, {}),
    "rows and a column": ([("Add", "x b"), ("Relu", ".")], {"x": _rng(70, 65)}, {"b": _rng(70, 1)}),
    "three dims": ([("Mul", "x b")], {"x": _rng(3, 5, 67)}, {"b": _rng(5, 1)}),
    "packed product": ([("MatMul", "x w"), ("Add", ". b")], {"x": _rng(133, 70)},
                       {"w": _rng(70, 101), "b": _rng(101)}),
    "product of run-time panels": ([("MatMul", "x y")], {"x": _rng(2, 300, 33), "y": _rng(2, 33, 97)}, {}),
    "transposed product": ([("Gemm", "x y", {"transB": 1})], {"x": _rng(290, 33), "y": _rng(70, 33)}, {}),
    "product of halves": ([("MatMul", "x y")],
                          {"x": _rng(290, 33, dtype=np.float16), "y": _rng(33, 70, dtype=np.float16)}, {}),
    "product of integers": ([("MatMul", "x y")], {"x": np.arange(35 * 20, dtype=np.int32).reshape(35, 20),
                                                  "y": np.arange(2600, dtype=np.int32).reshape(20, 130)}, {}),
    "one row": ([("MatMul", "x w")], {"x": _rng(1, 64)}, {"w": _rng(64, 500)}),
    "convolution": ([("Conv", "x w", {"pads": [1] * 4}), ("Relu", ".")], {"x": _rng(2, 5, 19, 23)},
                    {"w": _rng(37, 5, 3, 3)}),
    "grouped convolution": ([("Conv", "x w", {"strides": [2, 2], "group": 2})], {"x": _rng(1, 6, 19, 23)},
                            {"w": _rng(10, 3, 3, 3)}),
    "depthwise convolution": ([("Conv", "x w", {"pads": [1] * 4, "group": 50})], {"x": _rng(2, 50, 7, 7)},
                              {"w": _rng(50, 1, 3, 3)}),
    "convolution of one dim": ([("Conv", "x w", {"pads": [2, 2]})], {"x": _rng(1, 6, 200)},
                               {"w": _rng(40, 6, 5)}),
    "transposed convolution": ([("ConvTranspose", "x w", {"strides": [2, 2]})], {"x": _rng(1, 6, 9, 9)},
                               {"w": _rng(6, 5, 3, 3)}),
    "swept pool": ([("MaxPool", "x", {"kernel_shape": [3, 3], "pads": [1] * 4})], {"x": _rng(2, 41, 7, 9)},
                   {}),
    "pool by blocks": ([("AveragePool", "x", {"kernel_shape": [9, 9], "pads": [4] * 4})],
                       {"x": _rng(2, 3, 20, 21)}, {}),
    "global pool": ([("GlobalAveragePool", "x")], {"x": _rng(2, 40, 7, 7)}, {}),
    "attention": ([("Attention", "q k v", {"is_causal": 1})],
                  {"q": _rng(2, 4, 40, 16), "k": _rng(2, 2, 50, 16), "v": _rng(2, 2, 50, 24)}, {}),
    "softmax of rows": ([("Softmax", "x")], {"x": _rng(130, 47)}, {}),
    "softmax of columns": ([("Softmax", "x", {"axis": 1})], {"x": _rng(3, 17, 600)}, {}),
    "normalized rows": ([("LayerNormalization", "x s b")], {"x": _rng(70, 50)},
                        {"s": _rng(50), "b": _rng(50)}),
    "normalized channels": ([("InstanceNormalization", "x s b")], {"x": _rng(2, 9, 5, 7)},
                            {"s": _rng(9), "b": _rng(9)}),
    "sums of rows": ([("ReduceSum", "x a")], {"x": _rng(60, 3, 50)}, {"a": np.array([2])}),
    "sums of columns": ([("ReduceSum", "x a")], {"x": _rng(6, 30, 700)}, {"a": np.array([1])}),
    "largest places": ([("ArgMax", "x", {"axis": 1})], {"x": _rng(6, 30, 300)}, {}),
    "matrices transposed": ([("Transpose", "x", {"perm": [0, 2, 1]})], {"x": _rng(3, 300, 1100)}, {}),
    "dims transposed": ([("Transpose", "x", {"perm": [0, 2, 1, 3]})], {"x": _rng(3, 11, 12, 13)}, {}),
    "bytes transposed": ([("Transpose", "x", {"perm": [1, 0]})],
                         {"x": np.arange(300 * 90).astype(np.uint8).reshape(90, 300)}, {}),
    "concatenated": ([("Concat", "x y", {"axis": 1})], {"x": _rng(40, 33), "y": _rng(40, 9)}, {}),
    "sliced": ([("Slice", "x s e a t")], {"x": _rng(9, 50, 60)},
               {"s": np.array([40]), "e": np.array([2]), "a": np.array([1]), "t": np.array([-3])}),
    "padded": ([("Pad", "x p")], {"x": _rng(3, 20, 21)}, {"p": np.array([1, 2, 3, 0, 1, 2])}),
    "reflected": ([("Pad", "x p", {"mode": "reflect"})], {"x": _rng(3, 20, 21)},
                  {"p": np.array([1, 2, 3, 0, 1, 2])}),
    "expanded": ([("Expand", "x s")], {"x": _rng(7, 1, 9)}, {"s": np.array([5, 7, 11, 9])}),
    "resized": ([("Resize", "x  s", {"mode": "linear"})], {"x": _rng(1, 3, 20, 30)},
                {"s": np.array([1, 1, 2, 1.5], np.float32)}),
    "one hot": ([("OneHot", "x d v")], {"x": np.arange(200, dtype=np.int64).reshape(20, 10) % 17},
                {"d": np.array(17), "v": np.array([0, 1], np.float32)}),
    "response": ([("LRN", "x", {"size": 3})], {"x": _rng(2, 8, 20, 21)}, {}),
    "triangle": ([("Trilu", "x")], {"x": _rng(3, 40, 41)}, {}),
    "running sums": ([("CumSum", "x a")], {"x": _rng(5, 40, 6)}, {"a": np.array(1)}),
    "rotated": ([("RotaryEmbedding", "x c s")], {"x": _rng(2, 3, 20, 8)},
                {"c": _rng(2, 20, 4), "s": _rng(2, 20, 4)}),
}  # fmt: skip


def _model(nodes: list[Any], feeds: dict[str, Any], constants: dict[str, Any]) -> bytes:
    made: list[onnx.NodeProto] = []
    for number, (op, inputs, *attributes) in enumerate(nodes):
        names = [f"t{number - 1}" if name == "." else name for name in inputs.split(" ")]
        made.append(helper.make_node(op, names, [f"t{number}"], **(attributes[0] if attributes else {})))
    graph = helper.make_graph(
        made,
        "g",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for n, v in feeds.items()
        ],
        [helper.make_empty_tensor_value_info(f"t{len(nodes) - 1}")],
        [onnx.numpy_helper.from_array(v, n) for n, v in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])
    return onnx.shape_inference.infer_shapes(model).SerializeToString()


WINDOWS = [name for name in CASES if "convolution" in name or "pool" in name]
CHANNELS_FIRST = CompileOptions(skip_passes=("channels-last",))


@pytest.mark.parametrize(
    ("name", "options"),
    [*((name, CompileOptions()) for name in CASES), *((name, CHANNELS_FIRST) for name in WINDOWS)],
)
def test_results_keep_every_bit(name: str, options: CompileOptions, backwards: Backwards) -> None:
    nodes, feeds, constants = CASES[name]
    model = _model(nodes, feeds, constants)
    expected = compile_model(model, replace(options, threads=1)).run(feeds)
    alone = backwards.shared
    got = compile_model(model, replace(options, threads=WORKERS)).run(feeds)
    assert alone == 0 and backwards.shared > 0
    for output, value in expected.items():
        assert got[output].tobytes() == value.tobytes()
