"""A loop marked `loom.tasks` must be one that can be run in parts."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.utils.exceptions import VerifyException

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.loom.tasks import TASKS, task_loop


def _body() -> KernelBody:
    return KernelBody("k", [f32], [f32], 2)


def test_index_arithmetic_and_loads_of_inputs_may_come_before() -> None:
    k = _body()
    k.scratch(f32, 8)
    first = k.load(k.ins[0], k.index(0))
    with k.tasks(k.mul(k.sizes[0], k.sizes[1])) as i:
        k.store(first, k.outs[0], i)
    kernel = k.end()
    kernel.verify()
    assert task_loop(kernel) is not None


def _two(k: KernelBody) -> None:
    for _ in range(2):
        with k.tasks(k.sizes[0]) as i:
            k.store(k.load(k.ins[0], i), k.outs[0], i)


def _nested(k: KernelBody) -> None:
    with k.loop(k.sizes[0]) as i:
        with k.loop(k.sizes[1]):
            k.store(k.load(k.ins[0], i), k.outs[0], i)
        inner = k.builder.insertion_point.block.last_op
        assert inner is not None
        inner.attributes[TASKS] = UnitAttr()


def _store_after(k: KernelBody) -> None:
    with k.tasks(k.sizes[0]) as i:
        k.store(k.load(k.ins[0], i), k.outs[0], i)
    k.store(k.load(k.ins[0], k.index(0)), k.outs[0], k.index(0))


def _store_before(k: KernelBody) -> None:
    k.store(k.load(k.ins[0], k.index(0)), k.outs[0], k.index(0))
    with k.tasks(k.sizes[0]) as i:
        k.store(k.load(k.ins[0], i), k.outs[0], i)


def _loop_before(k: KernelBody) -> None:
    with k.loop(k.sizes[1]) as j:
        k.store(k.load(k.ins[0], j), k.outs[0], j)
    with k.tasks(k.sizes[0]) as i:
        k.store(k.load(k.ins[0], i), k.outs[0], i)


def _load_of_output_before(k: KernelBody) -> None:
    first = k.load(k.outs[0], k.index(0))
    with k.tasks(k.sizes[0]) as i:
        k.store(first, k.outs[0], i)


def _starts_later(k: KernelBody) -> None:
    with k.loop(k.sizes[0], start=k.index(1)) as i:
        k.store(k.load(k.ins[0], i), k.outs[0], i)
    loop = k.block.last_op
    assert loop is not None
    loop.attributes[TASKS] = UnitAttr()


def _carries(k: KernelBody) -> None:
    def step(i, acc):  # pyright: ignore
        k.store(acc[0], k.outs[0], i)
        return [acc[0]]

    k.reduce(k.sizes[0], [k.load(k.ins[0], k.index(0))], step)
    loop = k.block.last_op
    assert loop is not None
    loop.attributes[TASKS] = UnitAttr()


def _count_from_data(k: KernelBody) -> None:
    count = k.scalars.emit(_to_int(k))
    with k.tasks(k.to_index(count)) as i:
        k.store(k.load(k.ins[0], i), k.outs[0], i)


def _to_int(k: KernelBody):  # pyright: ignore
    from xdsl.dialects import arith
    from xdsl.dialects.builtin import i64

    return arith.FPToSIOp(k.load(k.ins[0], k.index(0)), i64)


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (_two, "a single loop"),
        (_nested, "a single loop of the kernel's own block"),
        (_store_after, "nothing may follow"),
        (_store_before, "memref.store may not come before"),
        (_loop_before, "scf.for may not come before"),
        (_load_of_output_before, "memref.load may not come before"),
        (_starts_later, "counts from 0 in steps of 1"),
        (_carries, "carries no values"),
        (_count_from_data, "must follow from the sizes"),
    ],
)
def test_what_cannot_be_run_in_parts(write, reason: str) -> None:  # pyright: ignore
    k = _body()
    write(k)
    with pytest.raises(VerifyException, match=reason):
        k.end().verify()
