"""Every reason for which ops that sample images decline, and next to it the form that has a kernel."""

from __future__ import annotations

from lowering_reasons import Case, check, reason_of


def grid_sample(
    attributes: str = "", images: str = "1x2x3x4", grid: str = "1x5x6x2", element: str = "f32"
) -> Case:
    operands = [f"tensor<{images}x{element}>", f"tensor<{grid}xf32>"]
    return (
        "GridSample",
        operands,
        attributes,
        [f"tensor<{'x'.join('?' * (images.count('x') + 1))}x{element}>"],
    )


GRID_SAMPLE: dict[str, tuple[Case, str | None]] = {
    "fits": (grid_sample('mode = "bicubic"'), None),
    "fits volumes": (grid_sample(images="1x2x3x4x5", grid="1x5x6x7x3"), None),
    "mode": (grid_sample('mode = "area"'), "GridSample of mode area with padding zeros has no kernel"),
    "padding": (
        grid_sample('padding_mode = "wrap"'),
        "GridSample of mode linear with padding wrap has no kernel",
    ),
    "dims": (
        grid_sample(images="1x2x3x4x5x6", grid="1x5x6x7x8x4"),
        "GridSample of 6 dims by 6 has no kernel",
    ),
    "no dims": (grid_sample(images="1x2", grid="1x0"), "GridSample of 2 dims by 2 has no kernel"),
    "grid": (grid_sample(grid="1x5x2"), "GridSample of 4 dims by 3 has no kernel"),
    "moves integers": (grid_sample('mode = "nearest"', element="i32"), None),
    "mixes integers": (grid_sample(element="i32"), "GridSample of mode linear of integers has no kernel"),
}


@check(GRID_SAMPLE)
def test_grid_sample(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
