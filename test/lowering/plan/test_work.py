"""Which launches are shared out, and in what parts?"""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import f32

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.loom.target import Target
from onnxloom.dialects.loom.tasks import task_fault
from onnxloom.lowering.plan import work
from onnxloom.lowering.plan.kernel_work import kernel_work, works_of
from onnxloom.lowering.plan.program import KernelWork
from onnxloom.lowering.plan.work import Share, evaluate, share_of, worth_waking


def _rows(body: KernelBody, *, dear: bool = False) -> None:
    rows, columns = body.sizes
    with body.tasks(rows) as i, body.loop(columns, parallel=True) as j:
        at = body.at(i, columns, j)
        value = body.load(body.ins[0], at)
        body.store(body.scalars.unary(xmath.ExpOp, value) if dear else value, body.outs[0], at)


def _work(**options: bool) -> KernelWork:
    body = KernelBody("rows", [f32], [f32], 2)
    _rows(body, **options)
    found = kernel_work(body.end())
    assert found is not None
    return found


def test_tasks_and_work_follow_from_the_sizes() -> None:
    tasks, cost = evaluate(_work(), [7, 100])
    assert tasks == 7
    assert cost == pytest.approx(evaluate(_work(), [7, 1000])[1] / 10, rel=0.05)
    assert evaluate(_work(dear=True), [7, 100])[1] > 2 * cost


def test_kernels_without_tasks_have_no_estimate() -> None:
    body = KernelBody("plain", [f32], [f32], 1)
    with body.loop(body.sizes[0]) as i:
        body.store(body.load(body.ins[0], i), body.outs[0], i)
    plain = body.end()
    assert kernel_work(plain) is None
    assert works_of([plain]) == {}


def test_tasks_that_a_condition_counts_stay_on_one_thread() -> None:
    body = KernelBody("chosen", [f32], [f32], 2)
    s, (rows, other) = body.scalars, body.sizes
    with body.tasks(s.select(s.cmp("lt", rows, other), rows, other)) as i:
        body.store(body.load(body.ins[0], i), body.outs[0], i)
    chosen = body.end()
    assert task_fault(chosen) is None
    assert kernel_work(chosen) is None


@pytest.mark.parametrize(("a", "b", "quotient", "rest"), [(7, -2, -3, 1), (-7, 2, -3, -1), (7, 0, 0, 0)])
def test_divisions_give_what_the_kernel_finds(a: int, b: int, quotient: int, rest: int) -> None:
    assert work.OPERATIONS["arith.divsi"](a, b) == quotient
    assert work.OPERATIONS["arith.remsi"](a, b) == rest


def test_bounds_that_depend_on_an_index_are_taken_at_its_first_value() -> None:
    body = KernelBody("blocks", [f32], [f32], 1)
    size, block = body.sizes[0], body.index(64)
    with body.tasks(body.scalars.emit(arith.CeilDivSIOp(size, block))) as i:
        first = body.mul(i, block)
        count = body.scalars.minimum(block, body.sub(size, first))
        with body.loop(count, parallel=True) as j:
            at = body.add(first, j)
            body.store(body.load(body.ins[0], at), body.outs[0], at)
    found = kernel_work(body.end())
    assert found is not None
    assert evaluate(found, [1000])[0] == 16
    assert evaluate(found, [1000])[1] > 4 * evaluate(found, [10])[1]


def test_products_cost_what_their_tiles_multiply() -> None:
    from onnxloom.conversion.onnx_to_loom.products.product_loops import gemm_tile_op, tile_of

    tile = tile_of(Target(), f32)
    assert tile is not None
    body = KernelBody("tile", [f32, f32], [f32], 2)
    rows, depth = body.sizes
    zero, one = body.index(0), body.index(1)
    with body.tasks(rows) as i:
        args = [body.ins[0], body.ins[1], body.outs[0], i, one, one, zero, one, i, one]
        body.builder.insert(gemm_tile_op(tile, f32, [*args, depth, one, one]))
    found = kernel_work(body.end())
    assert found is not None
    assert evaluate(found, [4, 4096])[1] == pytest.approx(4 * evaluate(found, [4, 1024])[1], rel=0.2)


def _plain(tasks: int, cost: int) -> tuple[KernelWork, list[int]]:
    return KernelWork((), (), 0, 1), [tasks, cost]


def test_small_launches_stay_on_one_thread() -> None:
    kernel, sizes = _plain(100, work.MIN_LAUNCH // 100 - 1)
    assert share_of(kernel, sizes, 4) == Share()
    assert share_of(kernel, [100, work.MIN_LAUNCH // 100], 4).chunks > 1


def test_one_task_or_one_thread_or_no_estimate_is_not_shared() -> None:
    kernel, sizes = _plain(1, 10**9)
    assert share_of(kernel, sizes, 4) == Share()
    assert share_of(kernel, [2, 10**9], 1) == Share()
    assert share_of(None, [2, 10**9], 4) == Share()
    assert share_of(kernel, [2, 10**9], 4) == Share(2, 1, 2 * 10**9)
    assert share_of(kernel, [0, 10**9], 4) == Share()


@pytest.mark.parametrize("tasks", [5, 64, 1000, 10**6, 10**9])
@pytest.mark.parametrize("threads", [2, 3, 64, 1000])
def test_chunks_cover_all_tasks_and_fit_the_ticket(tasks: int, threads: int) -> None:
    kernel, sizes = _plain(tasks, 10**6)
    share = share_of(kernel, sizes, threads)
    chunks, size = share.chunks, share.size
    assert (chunks - 1) * size < tasks <= chunks * size
    assert chunks <= work.MAX_CHUNKS
    assert chunks <= work.CHUNKS_PER_THREAD * threads


def test_a_chunk_is_worth_claiming() -> None:
    kernel, sizes = _plain(10**6, 10)
    assert share_of(kernel, sizes, 1000).size * 10 >= work.MIN_CHUNK


def test_helpers_are_woken_while_enough_work_is_ahead() -> None:
    half, little = Share(8, 1, work.WAKE // 2), Share(2, 1, 1)
    assert worth_waking([half, Share(), half, half, little]) == [True, True, True, False, False]
    assert worth_waking([]) == []
