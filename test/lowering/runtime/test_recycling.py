"""Memory of large results returns once nobody refers to it, never before, and what is kept is bounded."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import onnx.parser
import pytest

from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.lowering.plan.arena import ALIGNMENT
from onnxloom.lowering.runtime.recycling import RECYCLED, Pool, pool, size_class

F32: np.dtype[Any] = np.dtype(np.float32)


def made(of: Pool, floats: int) -> Any:
    return of.array((floats,), F32, 4 * floats)


def test_next_array_of_a_size_has_the_memory_of_the_last():
    some = Pool()
    first = made(some, 100_000)
    place = first.ctypes.data
    assert place % ALIGNMENT == 0
    assert first.shape == (100_000,) and first.flags.writeable and first.flags.c_contiguous
    second = made(some, 100_000)
    assert second.ctypes.data != place
    del first
    assert some.free_bytes == size_class(400_000)
    third = made(some, 99_000)
    assert third.ctypes.data == place
    assert some.free_bytes == 0


def test_a_view_keeps_the_memory():
    some = Pool()
    array = made(some, 1000)
    array[:] = 7
    view = array[10:20].reshape(2, 5)
    del array
    gc.collect()
    assert some.free_bytes == 0
    other = made(some, 1000)
    other[:] = 1
    assert (view == 7).all()
    del view
    assert some.free_bytes == size_class(4000)


def test_memory_that_is_free_is_bounded():
    some = Pool(max_bytes=3 * size_class(4000))
    held = [made(some, 1000) for _ in range(4)]
    while held:
        held.pop()
        assert some.free_bytes <= 3 * size_class(4000)
    large = made(some, 100_000)
    del large
    assert some.free_bytes == 0


def test_sizes_of_one_class_are_at_most_an_eighth_apart():
    for nbytes in (1, 64, 65, 1000, 70_000, 790_528, 790_529, 1 << 20, (1 << 20) + 1):
        found = size_class(nbytes)
        assert nbytes <= found <= max(nbytes * 9 / 8, nbytes + ALIGNMENT)
        assert size_class(found) == found


MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
graph (float[n] x) => (float[n] y, float[n] z)
{
    y = Neg(x)
    z = Exp(x)
}
"""


@pytest.mark.parametrize("size", [RECYCLED // 4, RECYCLED])
def test_results_that_are_kept_are_not_written_again(size: int):
    model = compile_model(onnx.parser.parse_model(MODEL), CompileOptions(cache=False))
    x = np.arange(size, dtype=np.float32) / size
    kept = model.run({"x": x})
    tail = kept["z"][-3:]
    for factor in (2, 3, 4):
        again = model.run({"x": factor * x})
        assert np.array_equal(kept["y"], -x)
        np.testing.assert_allclose(again["z"], np.exp(factor * x), rtol=1e-6)
    del kept
    model.run({"x": 5 * x})
    np.testing.assert_allclose(tail, np.exp(x)[-3:], rtol=1e-6)


def test_results_of_the_last_run_give_their_memory_to_the_next():
    model = compile_model(onnx.parser.parse_model(MODEL), CompileOptions(cache=False))
    x = np.ones(RECYCLED, np.float32)
    places = {value.ctypes.data for value in model.run({"x": x}).values()}
    assert {value.ctypes.data for value in model.run({"x": x}).values()} == places
    assert pool.free_bytes > 0
