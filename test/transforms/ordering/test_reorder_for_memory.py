"""Orders of ops: valid, never worse, the same values, and random ops as they stood."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from onnxloom.dialects.onnx.text import make_context, parse_module
from onnxloom.dialects.verify_module import verify_module
from onnxloom.testing import assert_noop
from onnxloom.testing.numerics import assert_preserves_numerics
from onnxloom.transforms.ordering.candidates import candidates
from onnxloom.transforms.ordering.reorder_for_memory import ReorderForMemoryPass
from onnxloom.transforms.ordering.schedule import Schedule
from onnxloom.transforms.rewriting.budget import limit_rewrites

SIZES = (1, 4, 16, 64, 256)


def graph(seed: int, count: int = 24) -> ModuleOp:
    """Ops of random sizes that read random earlier ones: their sums, put into a tensor of another size."""
    rng = np.random.default_rng(seed)
    lines: list[str] = []
    values = [("%x", 4)]
    for index in range(count):
        (left, n), (right, m) = (values[int(rng.integers(len(values)))] for _ in range(2))
        size = int(rng.choice(SIZES))
        axes = f"%axes{index} = onnx.Constant dense<[0]> : tensor<1xi64>"
        shape = f"%shape{index} = onnx.Constant dense<[{size}]> : tensor<1xi64>"
        sums = [
            f'%{name}{index} = "onnx.ReduceSum"({value}, %axes{index}) <{{keepdims = 1 : si64}}> : '
            f"(tensor<{length}xf32>, tensor<1xi64>) -> tensor<1xf32>"
            for name, value, length in (("a", left, n), ("b", right, m))
        ]
        total = (
            f'%c{index} = "onnx.Sub"(%a{index}, %b{index}) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>'
        )
        wide = f'%d{index} = "onnx.Expand"(%c{index}, %shape{index}) : '
        wide += f"(tensor<1xf32>, tensor<1xi64>) -> tensor<{size}xf32>"
        lines += [axes, shape, *sums, total, wide]
        values.append((f"%d{index}", size))
    outputs = values[-3:]
    types = ", ".join(f"tensor<{size}xf32>" for _, size in outputs)
    end = f"onnx.Return {', '.join(name for name, _ in outputs)} : {types}"
    body = "\n".join([*lines, end])
    return parse_module(f"func.func @f(%x: tensor<4xf32>) -> ({types}) {{\n{body}\n}}")


def block_of(module: ModuleOp) -> Block:
    return next(iter(module.ops)).regions[0].block


@pytest.mark.parametrize("seed", range(20))
def test_every_candidate_is_a_valid_order(seed: int):
    schedule = Schedule(block_of(graph(seed)))
    now = list(range(len(schedule.ops)))
    for order in candidates(schedule):
        assert sorted(order) == now
        place = {number: index for index, number in enumerate(order)}
        assert all(place[maker] < place[n] for n in now for maker in schedule.makers[n])


@pytest.mark.parametrize("seed", range(14))
def test_the_peak_falls_and_values_stay(seed: int):
    module = graph(seed)
    step = ReorderForMemoryPass()
    peaks: list[int] = []

    def transform(changed: ModuleOp) -> None:
        schedule = Schedule(block_of(changed))
        peaks.append(schedule.peak(range(len(schedule.ops))))
        step.apply(make_context(), changed)
        verify_module(changed)
        schedule = Schedule(block_of(changed))
        peaks.append(schedule.peak(range(len(schedule.ops))))

    assert_preserves_numerics(module, {"x": np.arange(4, dtype=np.float32)}, transform)
    before, after = peaks
    assert after < before
    (found,) = step.report.blocks
    assert (found.before, found.after) == (before, after)
    assert str(step.report) == f"@f: at most {after} bytes alive instead of {before}"


def test_a_second_run_changes_nothing_more_than_it_gains():
    module = graph(0)
    peaks: list[int] = []
    for _ in range(4):
        step = ReorderForMemoryPass()
        step.apply(make_context(), module)
        peaks += [found.after for found in step.report.blocks]
    assert peaks == sorted(set(peaks), reverse=True)
    step = ReorderForMemoryPass()
    assert_noop(module, lambda changed: step.apply(make_context(), changed))
    assert str(step.report) == "no order is better than the one there is"


def test_peak_counts_what_is_alive():
    module = parse_module("""
func.func @f(%x: tensor<10xf32>) -> tensor<10xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<10xf32>) -> tensor<10xf32>
  %1 = "onnx.Exp"(%0) : (tensor<10xf32>) -> tensor<10xf32>
  %2 = "onnx.Abs"(%1) : (tensor<10xf32>) -> tensor<10xf32>
  %3 = "onnx.Relu"(%2) : (tensor<10xf32>) -> tensor<10xf32>
  %4 = "onnx.Sin"(%x) : (tensor<10xf32>) -> tensor<10xf32>
  onnx.Return %3 : tensor<10xf32>
}""")
    assert Schedule(block_of(module)).peak(range(5)) == 80


def test_random_ops_keep_their_order():
    text = """
func.func @f(%x: tensor<1000xf32>) -> tensor<1xf32> {
  %axis = onnx.Constant dense<[0]> : tensor<1xi64>
  %0 = "onnx.RandomNormalLike"(%x) : (tensor<1000xf32>) -> tensor<1000xf32>
  %1 = "onnx.RandomNormalLike"(%x) : (tensor<1000xf32>) -> tensor<1000xf32>
  %2 = "onnx.ReduceSum"(%1, %axis) : (tensor<1000xf32>, tensor<1xi64>) -> tensor<1xf32>
  %3 = "onnx.ReduceMax"(%0, %axis) : (tensor<1000xf32>, tensor<1xi64>) -> tensor<1xf32>
  %4 = "onnx.Add"(%2, %3) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  onnx.Return %4 : tensor<1xf32>
}"""
    module = parse_module(text)
    random = [op for op in block_of(module).ops if op.name == "onnx.RandomNormalLike"]
    ReorderForMemoryPass().apply(make_context(), module)
    names = [op.name for op in block_of(module).ops]
    assert names[1:3] == ["onnx.RandomNormalLike", "onnx.ReduceMax"]
    assert [op for op in block_of(module).ops if op in random] == random


@pytest.mark.parametrize("op", ["RandomNormalLike", "Neg"])
def test_random_ops_in_bodies_keep_their_order_too(op: str):
    # What is returned is alive to the end: it is best made last.
    text = f"""
func.func @f(%x: tensor<1000xf32>, %y: tensor<50xf32>, %c: tensor<i1>) -> (tensor<1000xf32>, tensor<1xf32>) {{
  %axis = onnx.Constant dense<[0]> : tensor<1xi64>
  %0 = "onnx.If"(%c) ({{
    %then = "onnx.{op}"(%x) : (tensor<1000xf32>) -> tensor<1000xf32>
    onnx.Yield %then : tensor<1000xf32>
  }}, {{
    onnx.Yield %x : tensor<1000xf32>
  }}) : (tensor<i1>) -> tensor<1000xf32>
  %1 = "onnx.RandomNormalLike"(%y) : (tensor<50xf32>) -> tensor<50xf32>
  %2 = "onnx.ReduceSum"(%1, %axis) : (tensor<50xf32>, tensor<1xi64>) -> tensor<1xf32>
  onnx.Return %0, %2 : tensor<1000xf32>, tensor<1xf32>
}}"""
    module = parse_module(text)
    ReorderForMemoryPass().apply(make_context(), module)
    is_last = [op.name for op in block_of(module).ops][3] == "onnx.If"
    assert is_last == (op == "Neg")


def test_nothing_moves_beyond_a_limit():
    module = graph(0)
    with limit_rewrites(0):
        assert_noop(module, lambda changed: ReorderForMemoryPass().apply(make_context(), changed))
    with limit_rewrites(1) as log:
        ReorderForMemoryPass().apply(make_context(), module)
    assert log.taken == [("reorder-for-memory", "@f")]
