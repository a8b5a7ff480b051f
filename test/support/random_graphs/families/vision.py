"""Ops on images: other sizes, other places, regions, and normalization over channels."""

from __future__ import annotations

import numpy as np

from random_graphs.builder import GraphBuilder, Refused

WEIGHT = 2

F32 = np.dtype(np.float32)


def _image(g: GraphBuilder, ranks: tuple[int, ...] = (4,)) -> str:
    return g.pick(lambda a: a.dtype == F32 and a.ndim in ranks and a.size > 0)


def _finite_image(g: GraphBuilder, ranks: tuple[int, ...] = (4,)) -> str:
    """Where a weight of 0 meets an infinity, implementations differ."""
    x = _image(g, ranks)
    if not np.isfinite(g.array(x)).all():
        raise Refused
    return x


def _uniform(g: GraphBuilder, shape: tuple[int, ...], low: float, high: float) -> str:
    rng = np.random.default_rng(g.source.integer(0, 2**32 - 1))
    return g.constant(rng.uniform(low, high, shape).astype(np.float32))


def add_resize(g: GraphBuilder) -> None:
    """By scales or to sizes, the last dims only."""
    x = _finite_image(g, (3, 4))
    mode = g.source.choice(("nearest", "linear", "cubic"))
    given: dict[str, object] = {"mode": mode}
    given["coordinate_transformation_mode"] = g.source.choice(
        ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")
    )
    if mode == "nearest":
        given["nearest_mode"] = g.source.choice(("round_prefer_floor", "floor", "ceil", "round_prefer_ceil"))
    elif mode == "cubic" and g.source.chance(50):
        given["exclude_outside"] = 1
    axes = list(range(2, g.rank(x)))
    if g.source.chance(50):
        sizes = [*g.shape(x)[:2], *(g.source.integer(1, 2 * g.shape(x)[axis]) for axis in axes)]
        g.one("Resize", x, "", "", g.ints(*sizes), **given)
    else:
        scales = [1.0, 1.0, *(g.source.choice((2.0, 1.0, 0.5, 1.5)) for _ in axes)]
        if any(int(dim * scale) < 1 for dim, scale in zip(g.shape(x), scales, strict=True)):
            raise Refused
        g.one("Resize", x, "", g.constant(np.array(scales, np.float32)), **given)


def add_grid_sample(g: GraphBuilder) -> None:
    x = _finite_image(g)
    grid = _uniform(g, (g.shape(x)[0], g.source.integer(1, 3), 2, 2), -1.2, 1.2)
    padding = g.source.choice(("zeros", "border", "reflection"))
    mode = g.source.choice(("linear", "nearest", "cubic"))
    g.one("GridSample", x, grid, mode=mode, padding_mode=padding, align_corners=g.source.integer(0, 1))


def add_affine_grid(g: GraphBuilder) -> None:
    theta = _uniform(g, (2, 2, 3), -1, 1)
    other = g.pick(lambda a: a.dtype == F32 and a.ndim == 0)
    size = g.ints(2, 1, g.source.integer(1, 3), g.source.integer(2, 3))
    g.one("AffineGrid", g.one("Mul", theta, other), size, align_corners=g.source.integer(0, 1))


def add_roi_align(g: GraphBuilder) -> None:
    x = _finite_image(g)
    count = g.source.integer(1, 3)
    starts = np.array(g.array(_uniform(g, (count, 2), 0, 1)))
    rois = np.concatenate([starts, starts + 1.3], axis=1).astype(np.float32)
    batch = np.array([g.source.integer(0, g.shape(x)[0] - 1) for _ in range(count)], np.int64)
    given: dict[str, float] = {
        "output_height": g.source.integer(1, 2),
        "output_width": 2,
        "sampling_ratio": 2,
    }
    given["spatial_scale"] = g.source.choice((1.0, 0.5))
    transform = g.source.choice(("half_pixel", "output_half_pixel"))
    inputs = [x, g.constant(rois), g.constant(batch)]
    g.one("RoiAlign", *inputs, coordinate_transformation_mode=transform, **given)


def add_deform_conv(g: GraphBuilder) -> None:
    x = _finite_image(g)
    batch, channels, height, width = g.shape(x)
    if min(height, width) < 2:
        raise Refused
    out = (batch, height - 1, width - 1)
    w = g.random_constant((2, channels, 2, 2), F32)
    offset = _uniform(g, (out[0], 8, *out[1:]), -0.7, 0.7)
    more = []
    if g.source.chance(50):
        more.append(g.random_constant((2,), F32))
        if g.source.chance(50):
            more.append(_uniform(g, (out[0], 4, *out[1:]), 0, 1))
    g.one("DeformConv", x, w, offset, *more, kernel_shape=[2, 2])


def add_lrn(g: GraphBuilder) -> None:
    g.one("LRN", _image(g, (3, 4)), size=g.source.choice((3, 1, 2)), alpha=0.01, bias=1.5)


def add_lp_pool(g: GraphBuilder) -> None:
    x = _image(g)
    if min(g.shape(x)[2:]) < 2 or g.source.chance(30):
        g.one("GlobalLpPool", x, p=g.source.integer(1, 2))
    else:
        g.one(
            "LpPool", x, kernel_shape=[2, 2], p=g.source.integer(1, 2), strides=[g.source.integer(1, 2)] * 2
        )


def add_group_normalization(g: GraphBuilder) -> None:
    x = _image(g, (3, 4))
    channels = g.shape(x)[1]
    groups = g.source.choice([n for n in range(1, channels + 1) if channels % n == 0])
    scale, bias = (g.random_constant((channels,), F32) for _ in range(2))
    g.one("GroupNormalization", x, scale, bias, num_groups=groups)


def add_mean_variance_normalization(g: GraphBuilder) -> None:
    x = _finite_image(g)
    axes = g.source.choice(([0, 2, 3], [1, 2, 3], [2, 3]))
    g.one("MeanVarianceNormalization", x, axes=axes)
