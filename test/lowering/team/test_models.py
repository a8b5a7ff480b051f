"""Models on several threads: the same bits, the same errors, the options that say how many there are."""

from __future__ import annotations

import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from xdsl.dialects.builtin import i64

import onnxloom
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.errors import InputError
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.runtime.model import CompiledModel
from onnxloom.lowering.runtime.threads import VARIABLE, thread_count
from onnxloom.tools.testing.kernels import call_tasks

pytestmark = pytest.mark.usefixtures("share_all")


def _model(
    nodes: list[onnx.NodeProto], inputs: Mapping[str, tuple[int, list[Any]]], result: int
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, kind, dims) for name, (kind, dims) in inputs.items()],
        [helper.make_tensor_value_info("y", result, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])


def _layers() -> onnx.ModelProto:
    """A product, attention over it, a softmax, an elementwise chain; all dims open."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Attention", ["a", "a", "a"], ["b"], q_num_heads=4, kv_num_heads=4),
        helper.make_node("Softmax", ["b"], ["c"]),
        helper.make_node("Mul", ["c", "a"], ["d"]),
        helper.make_node("Tanh", ["d"], ["y"]),
    ]
    return _model(
        nodes,
        {"x": (TensorProto.FLOAT, ["n", "t", 32]), "w": (TensorProto.FLOAT, [32, 64])},
        TensorProto.FLOAT,
    )


def _feeds(n: int, t: int) -> dict[str, Any]:
    rng = np.random.default_rng(n * t)
    return {
        "x": rng.standard_normal((n, t, 32), dtype=np.float32),
        "w": rng.standard_normal((32, 64), dtype=np.float32),
    }


def _shared(model: CompiledModel) -> int:
    return sum(int((node.table[node.starts + 1] > 0).sum()) for node in model.plans)


@pytest.mark.parametrize("threads", [2, 3, 4, 16])
def test_every_bit_is_the_same(threads: int) -> None:
    alone, together = (onnxloom.compile(_layers(), threads=count) for count in (1, threads))
    for n, t in ((2, 37), (1, 1), (3, 64), (0, 5), (1, 0)):
        feeds = _feeds(n, t)
        expected = alone.run(feeds)["y"]
        for _ in range(3):
            assert together.run(feeds)["y"].tobytes() == expected.tobytes()
    assert _shared(alone) == 0 and _shared(together) > 0


def test_one_thread_takes_no_more_memory() -> None:
    """What each thread needs for itself is there once for every one of them."""
    sizes: list[int] = []
    for threads in (1, 2, 3):
        model = onnxloom.compile(_layers(), threads=threads)
        model.run(_feeds(1, 64))
        sizes.append(sum(node.arena_bytes for node in model.plans))
    assert sizes[1] - sizes[0] == sizes[2] - sizes[1] > 0


def test_each_worker_has_its_own_part_of_temporary_memory() -> None:
    k = KernelBody("own", [], [i64], 2)
    with k.tasks(k.sizes[0]) as i:
        k.store(k.from_index(i, i64), k.outs[0], k.private(k.sizes[1]))
    library = compile_kernels([k.end()])
    memory = np.full(12, -1)
    for worker in range(3):
        call_tasks(library.address("own"), [memory, 3, 4], worker, worker + 1, worker)
    np.testing.assert_array_equal(memory.reshape(3, 4)[:, 0], [0, 1, 2])
    np.testing.assert_array_equal(memory.reshape(3, 4)[:, 1:], -1)


def test_a_failed_check_is_an_error_every_time() -> None:
    nodes = [
        helper.make_node("Exp", ["x"], ["a"]),
        helper.make_node("Gather", ["a", "i"], ["b"]),
        helper.make_node("Tanh", ["b"], ["y"]),
    ]
    inputs = {"x": (TensorProto.FLOAT, [50, 3000]), "i": (TensorProto.INT64, [40])}
    model = onnxloom.compile(_model(nodes, inputs, TensorProto.FLOAT), threads=3)
    x, i = np.ones((50, 3000), np.float32), np.arange(40)
    outside = np.where(i == 20, 50, i)
    for _ in range(3):
        np.testing.assert_allclose(model(x, i)[0], np.tanh(np.e), rtol=1e-6)
        with pytest.raises(InputError, match="50"):
            model(x, outside)
    assert _shared(model) > 0


def test_where_the_number_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert onnxloom.compile(_layers(), threads=3).threads == 3
    assert onnxloom.compile(_layers(), threads=0).threads == thread_count(0)
    options = onnxloom.SessionOptions(intra_op_num_threads=2)
    assert onnxloom.InferenceSession(_layers(), options).model.threads == 2
    assert onnxloom.InferenceSession(_layers()).model.threads == thread_count(0)
    foreign: Any = types.SimpleNamespace(graph_optimization_level=99, intra_op_num_threads=5)
    assert onnxloom.InferenceSession(_layers(), foreign).model.threads == 5
    monkeypatch.setenv(VARIABLE, "4")
    assert onnxloom.compile(_layers(), threads=0).threads == 4
    assert onnxloom.compile(_layers(), threads=1).threads == 1


@pytest.mark.parametrize("threads", [-1, 2.0, "all"])
def test_other_numbers_are_refused(threads: Any) -> None:
    with pytest.raises(InputError, match="threads"):
        onnxloom.compile(_layers(), threads=threads)


def test_a_stored_model_serves_any_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXLOOM_CACHE_DIR", str(tmp_path))
    data, feeds = _layers().SerializeToString(), _feeds(2, 37)
    first = onnxloom.compile(data, threads=1)
    expected = first.run(feeds)["y"]
    second = onnxloom.compile(data, threads=3)
    assert second.stored and second.threads == 3
    assert second.run(feeds)["y"].tobytes() == expected.tobytes()
    assert _shared(second) > 0
