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


def roi_align(
    attributes: str = "", images: str = "1x2x3x4", element: str = "f32", regions: str = "f32"
) -> Case:
    operands = [f"tensor<{images}x{element}>", f"tensor<5x4x{regions}>", "tensor<5xi64>"]
    size = "output_height = 2 : si64, output_width = 2 : si64"
    return ("RoiAlign", operands, f"{size}{attributes}", [f"tensor<5x2x2x2x{element}>"])


ROI_ALIGN: dict[str, tuple[Case, str | None]] = {
    "fits": (roi_align(), None),
    "mode": (
        roi_align(', mode = "sum"'),
        "RoiAlign of mode sum with half_pixel coordinates has no kernel",
    ),
    "coordinates": (
        roi_align(', coordinate_transformation_mode = "asymmetric"'),
        "RoiAlign of mode avg with asymmetric coordinates has no kernel",
    ),
    "rank": (roi_align(images="2x3x4"), "RoiAlign of operands of other ranks has no kernel"),
    "integers": (
        roi_align(element="i32", regions="i32"),
        "RoiAlign of integers, or of regions of another type, has no kernel",
    ),
    "regions": (
        roi_align(regions="f64"),
        "RoiAlign of integers, or of regions of another type, has no kernel",
    ),
}


@check(ROI_ALIGN)
def test_roi_align(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


def deform_conv(
    attributes: str = "",
    images: str = "1x2x5x5",
    weights: str = "4x2x3x3",
    element: str = "f32",
    offsets: str = "f32",
    offset_dims: str = "1x18x3x3",
    mask: str = "none",
) -> Case:
    operands = [
        f"tensor<{images}x{element}>",
        f"tensor<{weights}x{element}>",
        f"tensor<{offset_dims}x{offsets}>",
    ]
    return ("DeformConv", [*operands, "none", mask], attributes, [f"tensor<1x4x3x3x{element}>"])


DEFORM_CONV: dict[str, tuple[Case, str | None]] = {
    "fits": (deform_conv(), None),
    "rank": (deform_conv(images="1x2x5"), "DeformConv of 3 dims has no kernel"),
    "integers": (
        deform_conv(element="i32", offsets="i32"),
        "DeformConv of integers, or of operands of several types, has no kernel",
    ),
    "offsets": (
        deform_conv(offsets="f64"),
        "DeformConv of integers, or of operands of several types, has no kernel",
    ),
    "flat offsets": (
        deform_conv(offset_dims="18x3x3"),
        "DeformConv with offsets or a mask of another rank has no kernel",
    ),
    "flat mask": (
        deform_conv(mask="tensor<9x3x3xf32>"),
        "DeformConv with offsets or a mask of another rank has no kernel",
    ),
    "window": (deform_conv(weights="4x2x?x3"), "the dims of the window of DeformConv are not known"),
    "flat window": (deform_conv(weights="4x2x3"), "the dims of the window of DeformConv are not known"),
    "pads": (
        deform_conv("pads = [0 : si64, -1 : si64, 0 : si64, 1 : si64]"),
        "negative pads of DeformConv have no kernel",
    ),
}


@check(DEFORM_CONV)
def test_deform_conv(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
