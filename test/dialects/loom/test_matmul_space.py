"""`loom.matmul_space` describes numpy.matmul: addressing by its strides gives the same product."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxloom.dialects.loom.matmul_space import matmul_space


def by_strides(
    lhs: npt.NDArray[Any],
    rhs: npt.NDArray[Any],
    others: list[npt.NDArray[Any]],
    trans_lhs: bool,
    trans_rhs: bool,
    rank: int,
) -> npt.NDArray[Any]:
    """lhs @ rhs + sum(others), element by element through the space's sizes and strides (flat)."""
    flat = iter(matmul_space(lhs.shape, rhs.shape, [o.shape for o in others], trans_lhs, trans_rhs, rank))
    batch = [next(flat) for _ in range(rank)]
    m, n, k = (next(flat) for _ in range(3))
    lines = [[next(flat) for _ in range(rank + 1)] for _ in range(3 + len(others))]
    a_k, b_k, b_n = (next(flat) for _ in range(3))
    by_column = [next(flat) for _ in others]
    assert next(flat, None) is None
    a, b, rest = lhs.reshape(-1), rhs.reshape(-1), [o.reshape(-1) for o in others]
    out: dict[int, Any] = {}
    for index in itertools.product(*(range(s) for s in (*batch, m))):
        a0, b0, c0, *r0 = (sum(i * s for i, s in zip(index, line, strict=True)) for line in lines)
        for j in range(n):
            total = sum(a[a0 + t * a_k] * b[b0 + t * b_k + j * b_n] for t in range(k))
            for r, start, stride in zip(rest, r0, by_column, strict=True):
                total = total + r[start + j * stride]
            assert c0 + j not in out
            out[c0 + j] = total
    return np.array([out[i] for i in range(len(out))], dtype=np.int64)


dims = st.integers(1, 3)


@given(st.data())
def test_strides_reproduce_matmul_with_broadcast_batches_and_operands(data: st.DataObject) -> None:
    m, n, k = (data.draw(dims) for _ in range(3))
    batch = data.draw(st.lists(dims, max_size=3))
    trans_lhs, trans_rhs = data.draw(st.booleans()), data.draw(st.booleans())

    def sub(shape: list[int]) -> tuple[int, ...]:
        cut = data.draw(st.integers(0, len(shape)))
        return tuple(data.draw(st.sampled_from([1, d])) for d in shape[cut:])

    lhs = (*sub(batch), *((k, m) if trans_lhs else (m, k)))
    rhs = (*sub(batch), *((n, k) if trans_rhs else (k, n)))
    result = (*np.broadcast_shapes(lhs[:-2], rhs[:-2]), m, n)
    others = [sub(list(result)) for _ in range(data.draw(st.integers(0, 2)))]
    rng = np.random.default_rng(0)
    a, b, *rest = (rng.integers(-9, 9, s) for s in (lhs, rhs, *others))
    want = (np.swapaxes(a, -1, -2) if trans_lhs else a) @ (np.swapaxes(b, -1, -2) if trans_rhs else b)
    for r in rest:
        want = want + r
    assert want.shape == result
    got = by_strides(a, b, rest, trans_lhs, trans_rhs, 3)
    np.testing.assert_array_equal(got, want.reshape(-1))


@pytest.mark.parametrize(
    ("lhs", "rhs"), [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4))]
)
def test_vector_operands_follow_numpy(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> None:
    a, b = np.arange(np.prod(lhs)).reshape(lhs), np.arange(np.prod(rhs)).reshape(rhs)
    want = np.asarray(a @ b)
    bias = np.arange(want.size).reshape(want.shape)
    got = by_strides(a, b, [bias], False, False, 2)
    np.testing.assert_array_equal(got, (want + bias).reshape(-1))


def test_shared_right_operand_merges_batches_into_rows() -> None:
    space = matmul_space((4, 5, 7), (7, 3), [(3,)], False, False, 1)
    assert space[:4] == [1, 20, 3, 7]


def test_inner_dims_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="4 columns against 5 rows"):
        matmul_space((2, 4), (5, 3), [], False, False, 0)


def test_operand_larger_than_the_product_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit the product"):
        matmul_space((2, 4), (4, 3), [(5, 2, 3)], False, False, 0)


def test_empty_product_has_no_iterations() -> None:
    assert 0 in matmul_space((0, 4), (4, 3), [], False, False, 0)[:2]
