"""The work of a launch is counted for its sizes: tails, triangles, branches, and what is read of a buffer."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.lowering.compile import CompileOptions
from onnxloom.lowering.roofline.kernel_work import MATH_FUNCTION, kernel_work
from onnxloom.lowering.roofline.launch_cost import CostTable, LaunchCost
from onnxloom.tools.benchmarking.inspected import compile_inspected


def test_loops_multiply_and_scratch_is_no_access():
    k = KernelBody("k", [f32], [f32], 2)
    scratch = k.scratch(f32, 4)
    with k.loop(k.sizes[0]) as i, k.loop(k.sizes[1]) as j:
        at = k.at(i, k.sizes[1], j)
        value = k.load(k.ins[0], at)
        k.store(k.scalars.add(value, value), scratch, k.index(0))
        k.store(k.scalars.emit(math.ExpOp(k.load(scratch, k.index(0)))), k.outs[0], at)
    work = kernel_work(k.end(), [3, 5])
    assert work.operations == 15 * (1 + MATH_FUNCTION)
    assert (work.loads, work.stores) == ({0: 15}, {1: 15})


def test_tail_of_the_last_tile_is_not_counted_as_a_whole_one():
    k = KernelBody("k", [f32], [f32], 1)
    size, tile = k.sizes[0], k.index(8)
    with k.loop(k.scalars.emit(arith.CeilDivSIOp(size, tile))) as i:
        begin = k.mul(i, tile)
        rest = k.scalars.emit(arith.MinSIOp(tile, k.sub(size, begin)))
        with k.loop(rest) as j:
            k.store(k.load(k.ins[0], k.add(begin, j)), k.outs[0], k.add(begin, j))
    assert kernel_work(k.op, [8 * 5 + 3]).stores == {1: 43}
    assert kernel_work(k.op, [3]).stores == {1: 3}
    assert kernel_work(k.op, [0]).stores == {}


def test_triangle_is_counted_as_one():
    k = KernelBody("k", [f32], [f32], 1)
    with k.loop(k.sizes[0]) as i, k.loop(i) as j:
        k.store(k.load(k.ins[0], j), k.outs[0], i)
    assert kernel_work(k.op, [101]).stores == {1: pytest.approx(101 * 100 / 2, rel=0.02)}


def test_known_condition_takes_one_branch_and_an_unknown_one_half_of_each():
    k = KernelBody("k", [f32], [f32], 1)
    small = k.scalars.emit(arith.CmpiOp(k.sizes[0], k.index(10), "slt"))
    with k.branch(small) as (then, _), k.inside(then):
        k.store(k.load(k.ins[0], k.index(0)), k.outs[0], k.index(0))
    positive = k.scalars.emit(arith.CmpfOp(k.load(k.ins[0], k.index(1)), k.scalars.const(0.0, f32), "ogt"))
    with k.branch(positive) as (then, _), k.inside(then):
        k.store(k.load(k.ins[0], k.index(0)), k.outs[0], k.index(0))
    assert kernel_work(k.op, [9]).stores == {1: 1.5}
    assert kernel_work(k.op, [10]).stores == {1: 0.5}


def test_of_sizes_that_data_chooses_between_the_larger_counts():
    k = KernelBody("k", [f32], [f32], 1)
    positive = k.scalars.emit(arith.CmpfOp(k.load(k.ins[0], k.index(0)), k.scalars.const(0.0, f32), "ogt"))
    with k.loop(k.scalars.select(positive, k.sizes[0], k.index(0))) as i:
        k.store(k.load(k.ins[0], i), k.outs[0], i)
    assert kernel_work(k.end(), [7]).stores == {1: 7}


def test_what_a_kernel_reads_of_its_own_output_is_not_read_from_memory():
    k = KernelBody("k", [f32], [f32], 1)
    with k.loop(k.sizes[0]) as i:
        k.store(k.load(k.outs[0], i), k.outs[0], i)
    work = kernel_work(k.op, [7])
    assert (work.loads, work.stores) == ({}, {1: 7})


def _costs(model: onnx.ModelProto, **feeds: np.ndarray) -> list[LaunchCost]:
    inspected = compile_inspected(model, CompileOptions(cache=False))
    inspected.model.run(feeds)
    table = CostTable(inspected.kernels)
    return [table(launch) for root in inspected.model.plans for launch in root.launches]


def _model(nodes: list[onnx.NodeProto], x: np.ndarray, w: np.ndarray) -> onnx.ModelProto:
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", element, x.shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize(("m", "k", "n"), [(5, 7, 9), (64, 32, 96), (1, 30, 50)])
def test_a_product_takes_two_operations_per_factor(m: int, k: int, n: int):
    x, w = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    costs = _costs(_model([helper.make_node("MatMul", ["x", "w"], ["y"])], x, w), x=x)
    assert sum(cost.operations for cost in costs) == pytest.approx(2 * m * k * n, rel=0.02)
    assert sum(cost.read for cost in costs) == pytest.approx(x.nbytes, rel=0.02)
    assert sum(cost.weights for cost in costs) >= w.nbytes


def test_of_a_table_only_the_gathered_rows_are_read():
    x, w = np.array([3, 1], np.int64), np.ones((1000, 16), np.float32)
    costs = _costs(_model([helper.make_node("Gather", ["w", "x"], ["y"])], x, w), x=x)
    assert sum(cost.weights for cost in costs) == 2 * 16 * 4
    assert sum(cost.written for cost in costs) < 2 * 16 * 4 + 100  # and a status
