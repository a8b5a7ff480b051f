"""The dims that Reshape gives, tensors without elements included."""

from __future__ import annotations

import pytest

from onnxloom.dialects.loom.spaces import reshape_sizes


@pytest.mark.parametrize(
    ("shape", "target", "sizes"),
    [
        ((0, 32, 384), [0, 32, -1, 32], [0, 32, 12, 32]),
        ((0, 5), [0, -1], [0, 5]),
        ((3, 0), [0, -1], [0, 3]),
        ((0, 4), [2, -1], [2, 0]),
        ((2, 6), [-1, 4], [3, 4]),
    ],
)
def test_a_zero_in_the_target_is_a_dim_of_its_own(
    shape: tuple[int, ...], target: list[int], sizes: list[int]
) -> None:
    assert reshape_sizes(shape, target, allowzero=True) == sizes


@pytest.mark.parametrize(("shape", "target"), [((2, 3), [0, -1]), ((0, 5), [0, 2, -1])])
def test_dims_that_cannot_agree(shape: tuple[int, ...], target: list[int]) -> None:
    with pytest.raises(ValueError, match="cannot reshape"):
        reshape_sizes(shape, target, allowzero=True)


def test_a_copied_dim_of_zero_says_nothing_of_the_rest() -> None:
    with pytest.raises(ValueError, match="cannot reshape"):
        reshape_sizes((0, 5), [0, -1], allowzero=False)
