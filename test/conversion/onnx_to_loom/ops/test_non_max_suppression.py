"""Are the boxes that stay those that onnxruntime keeps, in its order?"""

from __future__ import annotations

import numpy as np
import pytest
from against_peers import check_peers
from lowering_reasons import Case, check, reason_of, tensors
from numerics import Array
from text_models import compiled

from onnxloom.errors import InputError

RNG = np.random.default_rng(11)


def boxes(batches: int, count: int, by_center: int) -> Array:
    center, size = RNG.random((batches, count, 2)) * 40, RNG.random((batches, count, 2)) * 20
    if by_center:
        return np.concatenate([center, size], -1).astype(np.float32)
    corners = [center - size / 2, center + size / 2]
    first = RNG.random(count) < 0.5  # corners in either order
    low = np.where(first[None, :, None], corners[0], corners[1])
    return np.concatenate([low, corners[0] + corners[1] - low], -1).astype(np.float32)


def one(value: float, dtype: type = np.float32, scalar: bool = False) -> Array:
    return np.array(value, dtype) if scalar else np.array([value], dtype)


@pytest.mark.parametrize("by_center", [0, 1])
@pytest.mark.parametrize(("batches", "classes", "count"), [(1, 1, 1), (1, 1, 100), (2, 3, 33), (1, 2, 64)])
@pytest.mark.parametrize(("overlap", "least"), [(0.5, 0.3), (0.0, 0.0), (1.0, -1.0), (0.2, 0.99)])
def test_random_boxes(
    by_center: int, batches: int, classes: int, count: int, overlap: float, least: float
) -> None:
    given = boxes(batches, count, by_center)
    scores = (RNG.integers(0, 12, (batches, classes, count)) / 12).astype(np.float32)  # many equal ones
    for limit in (0, 5, 10_000):
        arrays = [given, scores, one(limit, np.int64), one(overlap), one(least)]
        check_peers("NonMaxSuppression", arrays, constants=[3], dynamic=[True], center_point_box=by_center)


@pytest.mark.parametrize("given", [0, 1, 2, 3])
def test_what_is_left_out(given: int) -> None:
    arrays: list[Array | None] = [boxes(1, 20, 0), RNG.random((1, 2, 20)).astype(np.float32)]
    arrays += [one(7, np.int64, True), one(0.4, scalar=True), one(0.2, scalar=True)][:given]
    check_peers("NonMaxSuppression", arrays)


def test_nothing_to_choose_from() -> None:
    rest = [one(3, np.int64), one(0.5), one(0.1)]
    empty = [np.zeros((0, 3), np.int64)]
    for batches, classes, count in ((1, 1, 0), (0, 1, 4), (1, 0, 4)):
        arrays = [np.zeros((batches, count, 4), np.float32), np.zeros((batches, classes, count), np.float32)]
        check_peers("NonMaxSuppression", [*arrays, *rest], want=empty, host=False, runtime=False)


def test_empty_boxes_hide_nothing_and_nan_is_no_score() -> None:
    given = np.zeros((1, 5, 4), np.float32)
    given[0, 2:] = [0, 0, 1, 1]
    scores = np.array([[[0.5, 0.5, 0.9, np.nan, 0.8]]], np.float32)
    arrays = [given, scores, one(9, np.int64), one(0.5), one(0.1)]
    want = np.array([[0, 0, 2], [0, 0, 0], [0, 0, 1]])
    check_peers("NonMaxSuppression", arrays, want=[want], host=False, runtime=False)


def test_what_does_not_fit_is_refused() -> None:
    model = compiled(
        "agraph (float[A, N, K] b, float[B, C, M] s, int64 m, float t) => (int64[S, 3] y) {"
        "y = NonMaxSuppression(b, s, m, t) }"
    )
    b, s, m, t = np.ones((1, 4, 4), np.float32), np.ones((1, 2, 4), np.float32), np.array(3), np.float32(0.5)
    assert model(b, s, m, np.array(t))[0].tolist() == [
        [0, 0, 0],
        [0, 0, 1],
        [0, 0, 2],
        [0, 1, 0],
        [0, 1, 1],
        [0, 1, 2],
    ]
    for overlap in (-0.1, 1.1):
        with pytest.raises(InputError, match="iou_threshold is out of range: expected 0 to 1"):
            model(b, s, m, np.array(overlap, np.float32))
    with pytest.raises(InputError, match="a box does not have 4 numbers"):
        model(b[:, :, :3], s, m, np.array(t))
    with pytest.raises(InputError, match="there is not one score for each box"):
        model(b, s[:, :, :3], m, np.array(t))
    with pytest.raises(InputError, match="the batch sizes of boxes and scores differ"):
        model(np.ones((2, 4, 4), np.float32), s, m, np.array(t))


RANKS = "boxes or scores that are not of rank 3 have no kernel"
RESULT = ["tensor<?x3xi64>"]
REASONS: dict[str, tuple[Case, str | None]] = {
    "fits": (("NonMaxSuppression", tensors("1x?x4", "1x1x?"), "", RESULT), None),
    "boxes": (("NonMaxSuppression", tensors("?x4", "1x1x?"), "", RESULT), RANKS),
    "scores": (("NonMaxSuppression", tensors("1x?x4", "1x?"), "", RESULT), RANKS),
}


@check(REASONS)
def test_reasons(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
