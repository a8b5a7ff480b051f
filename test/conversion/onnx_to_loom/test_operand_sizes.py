"""Do ops refuse operands that have fewer elements than their kernels read, or more?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from text_models import compiled

from onnxloom.errors import InputError, ModelError

Array = np.ndarray[Any, Any]

X = np.arange(12, dtype=np.float32).reshape(3, 4)
ROI = 'coordinate_transformation_mode = "tf_crop_and_resize", mode = "linear"'

CASES: dict[str, tuple[str, list[Any], list[int], str]] = {
    "Pad": (
        "float[N, M] x, float[K] v) => (float[A, B] y)"
        "{ p = Constant <value_ints = [1, 0, 0, 1]> () y = Pad(x, p, v) }",
        [X, np.ones(1, np.float32)],
        [1],
        "the value to fill with does not have 1 element",
    ),
    "OneHot": (
        "int64[N] i, int64 d, int64[K] v) => (int64[N, D] y) { y = OneHot(i, d, v) }",
        [np.arange(3), np.array(4), np.arange(2)],
        [2],
        "the operand with the values for off and on does not have 2 elements",
    ),
    "OneHot depth": (
        "int64[N] i, float[D] d, int64[K] v) => (int64[N, E] y) { y = OneHot(i, d, v) }",
        [np.arange(3), np.ones(1, np.float32), np.arange(2)],
        [1],
        "the depth does not have 1 element",
    ),
    "Range": (
        "int64[A] a, int64[B] b, int64[C] c) => (int64[N] y) { y = Range(a, b, c) }",
        [np.array([0]), np.array([5]), np.array([2])],
        [0, 1, 2],
        "a bound, or the delta, does not have 1 element",
    ),
    "MelWeightMatrix": (
        "int64 a, int64 b, int64 c, float[L] l, float[H] h) => (float[N, M] y)"
        "{ y = MelWeightMatrix(a, b, c, l, h) }",
        [np.array(3), np.array(8), np.array(800), np.zeros(1, np.float32), np.full(1, 300, np.float32)],
        [3, 4],
        "an edge does not have 1 element",
    ),
    "iou_threshold": (
        "float[B, N, 4] b, float[B, C, N] s, int64[A] a, float[K] t) => (int64[M, 3] y)"
        "{ y = NonMaxSuppression(b, s, a, t) }",
        [
            np.zeros((1, 2, 4), np.float32),
            np.ones((1, 1, 2), np.float32),
            np.array([1]),
            np.ones(1, np.float32),
        ],
        [3],
        "iou_threshold does not have 1 element",
    ),
    "score_threshold": (
        "float[B, N, 4] b, float[B, C, N] s, int64[A] a, float t, float[K] u) => (int64[M, 3] y)"
        "{ y = NonMaxSuppression(b, s, a, t, u) }",
        [
            np.zeros((1, 2, 4), np.float32),
            np.ones((1, 1, 2), np.float32),
            np.array([1]),
            np.array(0.5, np.float32),
            np.zeros(1, np.float32),
        ],
        [4],
        "score_threshold does not have 1 element",
    ),
    "TopK": (
        "float[N, M] x, int64[K] k) => (float[N, A] y, int64[N, A] i) { y, i = TopK(x, k) }",
        [X, np.array([2])],
        [1],
        "k does not have 1 element",
    ),
    "OneHot integer depth": (
        "int64[N] i, int64[D] d, int64[2] v) => (int64[N, E] y) { y = OneHot(i, d, v) }",
        [np.arange(3), np.array([4]), np.arange(2)],
        [1],
        "the depth does not have 1 element",
    ),
    "HannWindow": (
        "int64[K] k) => (float[N] y) { y = HannWindow(k) }",
        [np.array([4])],
        [0],
        "the length does not have 1 element",
    ),
    "MelWeightMatrix sizes": (
        "int64[A] a, int64[B] b, int64[C] c, float l, float h) => (float[N, M] y)"
        "{ y = MelWeightMatrix(a, b, c, l, h) }",
        [np.array([3]), np.array([8]), np.array([800]), np.float32(0), np.float32(300)],
        [0, 1, 2],
        "a number does not have 1 element",
    ),
    "max_output_boxes_per_class": (
        "float[B, N, 4] b, float[B, C, N] s, int64[A] a) => (int64[M, 3] y)"
        "{ y = NonMaxSuppression(b, s, a) }",
        [np.zeros((1, 2, 4), np.float32), np.ones((1, 1, 2), np.float32), np.array([1])],
        [2],
        "the limit does not have 1 element",
    ),
    "MaxUnpool": (
        "float[1, 1, 1, 1] x, int64[1, 1, 1, 1] i, int64[K] s) => (float[A, B, C, D] y)"
        "{ y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s) }",
        [np.ones((1, 1, 1, 1), np.float32), np.zeros((1, 1, 1, 1), np.int64), np.array([1, 1, 3, 3])],
        [2],
        "output_shape does not have 4 elements",
    ),
    "Col2Im": (
        "float[1, 4, 4] x, int64[2] i, int64[B] b) => (float[1, 1, H, W] y) { y = Col2Im(x, i, b) }",
        [np.ones((1, 4, 4), np.float32), np.array([3, 3]), np.array([2, 2])],
        [2],
        "block_shape does not have 2 elements",
    ),
    "Trilu": (
        "float[N, M] x, int64[K] k) => (float[N, M] y) { y = Trilu(x, k) }",
        [X, np.array([1])],
        [1],
        "k does not have 1 element",
    ),
    "CumSum": (
        "float[N, M] x, int64[K] k) => (float[N, M] y) { y = CumSum(x, k) }",
        [X, np.array([1])],
        [1],
        "the axis does not have 1 element",
    ),
    "roi": (
        "float[N, M] x, float[R] r, float[2] s) => (float[A, B] y) { y = Resize <" + ROI + "> (x, r, s) }",
        [X, np.array([0, 0, 1, 1], np.float32), np.array([2, 2], np.float32)],
        [1],
        "roi does not have 4 elements",
    ),
}


@pytest.mark.parametrize("text, arrays, places, reason", CASES.values(), ids=CASES)
def test_another_number_of_elements_is_refused(
    text: str, arrays: list[Array], places: list[int], reason: str
) -> None:
    model = compiled(f"agraph ({text}")
    model(*arrays)
    assert not model.host_counts
    for place in places:
        array = arrays[place]
        for other in (array[:0], np.concatenate([array, array])):
            with pytest.raises((InputError, ModelError), match=reason):
                model(*arrays[:place], other, *arrays[place + 1 :])


def test_pads_that_cut_more_than_there_is_are_refused() -> None:
    for mode in ("constant", "edge"):
        model = compiled(
            f'agraph (float[N, M] x, int64[4] p) => (float[A, B] y) {{ y = Pad <mode = "{mode}"> (x, p) }}'
        )
        assert model(X, np.array([-1, 0, -2, 0]))[0].shape == (0, 4)
        with pytest.raises((InputError, ModelError), match="cut more off"):
            model(X, np.array([-2, 0, -2, 0]))


@pytest.mark.parametrize("upper", [0, 1])
def test_diagonals_far_outside_of_a_matrix(upper: int) -> None:
    model = compiled(
        f"agraph (float[N, M] x, int64 k) => (float[N, M] y) {{ y = Trilu <upper = {upper}> (x, k) }}"
    )
    for k in (2**63 - 1, -(2**63), 5, -4):
        want = X if (k < 0) == bool(upper) else np.zeros_like(X)
        assert np.array_equal(model(X, np.array(k))[0], want), k


def test_an_overlap_that_is_no_number_is_refused() -> None:
    model = compiled(
        "agraph (float[B, N, 4] b, float[B, C, N] s, float t) => (int64[M, 3] y)"
        "{ a = Constant <value_ints = [1]> () y = NonMaxSuppression(b, s, a, t) }"
    )
    boxes, scores = np.zeros((1, 2, 4), np.float32), np.ones((1, 1, 2), np.float32)
    for fine in (0, 1):
        model(boxes, scores, np.array(fine, np.float32))
    for bad in (np.nan, -0.5, 1.5):
        with pytest.raises(InputError, match="iou_threshold is out of range"):
            model(boxes, scores, np.array(bad, np.float32))


def test_a_resize_to_no_size_is_refused() -> None:
    with pytest.raises((InputError, ModelError), match="Resize"):
        compiled("agraph (float[N, M] x) => (float[A, B] y) { y = Resize(x) }")(X)
