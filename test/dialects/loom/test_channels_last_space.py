"""Blocks cover all points, and points that are alike are told."""

from __future__ import annotations

import itertools

import pytest

from onnxloom.dialects.loom.channels_last_space import (
    HEAD,
    MAX_POINTS,
    PER_DIM,
    TABLE,
    blocking,
    channels_last_space,
    panel_width,
    tile_step,
)
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.loom.target import GemmTile

TILE = GemmTile(8, 3, 16)


def test_blocks_cover_all_points() -> None:
    for points, step, elements, wanted in itertools.product(
        (0, 1, 7, 8, 49, 196, 3136, 100000), (4, 7, 8), (0, 3, 64, 100000), (1, 16)
    ):
        blocks, block = blocking(points, step, MAX_POINTS, elements, wanted)
        assert points <= blocks * block < points + max(block, 1)
        assert block <= MAX_POINTS
        assert block % step == 0 or blocks <= 1


def test_a_task_has_no_more_taps_than_the_table_holds() -> None:
    space = channels_last_space(
        (1, 64, 64, 16), (8, 16, 7, 7), [], Window((7, 7), (1, 1), (1, 1), (3,) * 4), 1, TILE, False
    )
    assert space[4] * space[12] <= TABLE


UNIFORM = {
    "one tap": ((1, 5, 7, 12), (1, 1), (1, 1), (0,) * 4, 12),
    "a stride along the only row": ((1, 1, 8, 12), (1, 1), (1, 2), (0,) * 4, 24),
    "a stride along the rows": ((1, 5, 7, 12), (1, 1), (2, 1), (0,) * 4, 0),
    "rows that do not follow closely": ((1, 5, 7, 12), (1, 1), (1, 2), (0,) * 4, 0),
    "a border": ((1, 5, 7, 12), (1, 1), (1, 1), (0, 0, 0, 1), 0),
    "a border in front": ((1, 1, 7, 12), (1, 1), (1, 1), (0, 1, 0, 0), 0),
    "two taps": ((1, 5, 7, 12), (1, 2), (1, 1), (0,) * 4, 0),
}


@pytest.mark.parametrize("case", UNIFORM)
def test_points_that_are_alike(case: str) -> None:
    x, kernel, strides, pads, step = UNIFORM[case]
    space = channels_last_space(
        x, (20, 12, *kernel), [], Window(kernel, strides, (1, 1), pads), 1, TILE, False
    )
    assert space[16:HEAD] == [step, int(step == 0)]
    assert len(space) == HEAD + 2 * PER_DIM


def test_panels_of_weights_are_about_equally_wide() -> None:
    assert [panel_width(columns, TILE) for columns in (0, 1, 16, 24, 48, 64, 96, 128)] == [
        16, 16, 16, 32, 48, 32, 48, 48,
    ]  # fmt: skip


def test_tiles_end_with_rows_where_one_row_less_does() -> None:
    assert [tile_step(8, places) for places in (7, 8, 14, 28, 56, 17)] == [7, 8, 7, 7, 8, 8]
    assert tile_step(4, 3) == 4


@pytest.mark.parametrize(
    ("w", "other", "message"),
    [
        ((8, 5, 1, 1), (8,), "12 channels do not fit weights"),
        ((9, 6, 1, 1), (9,), "12 channels do not fit weights"),
        ((8, 6, 1, 1), (7,), "an operand of shape"),
        ((8, 6, 1, 1), (1, 1, 1, 1, 8), "an operand of shape"),
        ((8, 6, 1, 1), (5, 1, 1), "broadcasts along some spatial dims only"),
    ],
)
def test_what_does_not_fit(w: tuple[int, ...], other: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        channels_last_space(
            (1, 5, 7, 12), w, [other], Window((1, 1), (1, 1), (1, 1), (0,) * 4), 2, TILE, False
        )
