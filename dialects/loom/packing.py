"""Memory layouts of packed constants, one numpy function per `loom.pack` layout name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from onnxloom.dialects.loom.winograd_filter import winograd_panels
from onnxloom.errors import OnnxloomError

Array = npt.NDArray[Any]


def gemm_panels(source: Array, params: Mapping[str, int]) -> Array:
    """A matrix as column panels: `[..., K, N]` -> `[..., ceil(N / columns), K, columns]`, zero-padded.

    Params: `columns`, the panel width; `transposed`, 1 if the last two dims of `source` are `[N, K]`;
    `flat`, 1 if the leading dims of `source` are one dim; `single`, 1 to store the elements as f32.
    """
    columns = params["columns"]
    if params.get("flat", 0):
        source = source.reshape(-1, source.shape[-1])
    matrix = np.swapaxes(source, -1, -2) if params.get("transposed", 0) else source
    *batch, k, n = matrix.shape
    panels = -(-n // columns)
    dtype = np.float32 if params.get("single", 0) else source.dtype
    packed = np.zeros((*batch, panels, k, columns), dtype=dtype)
    whole = n // columns
    if whole:
        body = matrix[..., : whole * columns].reshape(*batch, k, whole, columns)
        packed[..., :whole, :, :] = np.moveaxis(body, -3, -2)
    if whole < panels:
        packed[..., whole, :, : n - whole * columns] = matrix[..., whole * columns :]
    return packed


def transposed_rows(source: Array, params: Mapping[str, int]) -> Array:
    """The rows of a tensor as columns: `[R, ...]` -> `[elements of a row, R]`.

    Params: `single`, 1 to store the elements as f32.
    """
    dtype = np.float32 if params.get("single", 0) else source.dtype
    return np.ascontiguousarray(source.reshape(source.shape[0], -1).T, dtype=dtype)


def row_panels(source: Array, params: Mapping[str, int]) -> Array:
    """Rows side by side: `[rows, ...]` of R elements each -> `[ceil(rows / columns), R, columns]`.

    Zero-padded. Params: `rows`, which the source may have flattened; `columns`, rows of a panel.
    """
    matrix = source.reshape(params["rows"], -1)
    return gemm_panels(matrix, {"columns": params["columns"], "transposed": 1})


def conv_panels(source: Array, params: Mapping[str, int]) -> Array:
    """Weights of a convolution as column panels of output channels, the taps of a column channel by channel.

    `[M, C, *kernel]` -> `[group, panels, taps * C, columns]`, zero-padded, flat; then `zeros` times the
    number `border`. Params: `columns`, the panel width; `group`; `zeros`; `border`; `single`, 1 to store the
    elements as f32.
    """
    group, columns = params["group"], params["columns"]
    rows, channels = source.shape[0] // group, source.shape[1]
    taps, panels = math.prod(source.shape[2:]), -(-rows // columns)
    size = group * panels * taps * channels * columns
    dtype = np.float32 if params.get("single", 0) else source.dtype
    packed = np.empty(size + params["zeros"], dtype)
    packed[size:] = params.get("border", 0)
    weights = source.reshape(group, rows, channels, taps)
    target = packed[:size].reshape(group, panels, taps, channels, columns)
    for i in range(panels):  # one of them fits the cache
        part = weights[:, i * columns : (i + 1) * columns]
        target[:, i, ..., : part.shape[1]] = part.transpose(0, 3, 2, 1)
        target[:, i, ..., part.shape[1] :] = 0
    return packed


def recurrent_gates(source: Array, params: Mapping[str, int]) -> Array:
    """Recurrence weights as panels per gate, transposed and zero-padded.

    `[directions, gates * hidden, hidden]` -> `[directions, gates, panels, hidden, columns]`. Params: `gates`;
    `columns`, the panel width.
    """
    hidden = source.shape[-1]
    gates = source.reshape(source.shape[0], params["gates"], hidden, hidden)
    return gemm_panels(gates, {"columns": params["columns"], "transposed": 1})


def recurrent_words(source: Array, params: Mapping[str, int]) -> Array:
    """8-bit recurrence weights minus their zero point as panels per gate of words of four along K.

    `[directions, K, gates * hidden]` -> `[directions, gates, panels, ceil(K / 4), columns]`; the differences
    must fit signed bytes. Params: `gates`; `columns`, the panel width; `zero`, the zero point.
    """
    moved = (source.astype(np.int16) - np.int16(params["zero"])).astype(np.int8)
    words = quad_words(moved, {"axis": -2, "flip": 0})
    directions, depth, width = words.shape
    gates = words.reshape(directions, depth, params["gates"], width // params["gates"])
    return gemm_panels(np.moveaxis(gates, 2, 1), {"columns": params["columns"]})


def integers_as_floats(source: Array, params: Mapping[str, int]) -> Array:
    """8-bit weights minus their zero point as f32, transposed: `[directions, K, N]` -> `[directions, N, K]`.

    Params: `zero`, the zero point.
    """
    return np.ascontiguousarray(np.swapaxes(source.astype(np.float32) - np.float32(params["zero"]), -1, -2))


def as_float32(source: Array, params: Mapping[str, int]) -> Array:
    """The same numbers as f32."""
    return source.astype(np.float32)


def pair_up(values: Array, axis: int) -> Array:
    """Numbers of 16 bits two by two along an axis: the even one is the low half of a 32-bit word.

    An odd length is filled up with a zero.
    """
    moved = np.moveaxis(values.astype(np.int32), axis, -1)
    if moved.shape[-1] % 2:
        moved = np.concatenate([moved, np.zeros((*moved.shape[:-1], 1), np.int32)], axis=-1)
    words = (moved[..., 0::2] & 0xFFFF) | (moved[..., 1::2] << 16)
    return np.ascontiguousarray(np.moveaxis(words, -1, axis))


def pair_words(source: Array, params: Mapping[str, int]) -> Array:
    """8-bit integers minus `zero`, paired along `axis`; see `pair_up`."""
    return pair_up(source.astype(np.int32) - params["zero"], params["axis"])


def quad_words(source: Array, params: Mapping[str, int]) -> Array:
    """Bytes four by four along `axis`, the first in the low byte of a 32-bit word; filled up with zeros.

    Params: `flip`, what each byte is xored with before: 128 makes signed numbers of unsigned ones.
    """
    moved = np.moveaxis(source.view(np.uint8) ^ np.uint8(params["flip"]), params["axis"], -1)
    missing = -moved.shape[-1] % 4
    moved = np.concatenate([moved, np.zeros((*moved.shape[:-1], missing), np.uint8)], axis=-1).astype(
        np.uint32
    )
    words = moved[..., 0::4] | moved[..., 1::4] << 8 | moved[..., 2::4] << 16 | moved[..., 3::4] << 24
    return np.ascontiguousarray(np.moveaxis(words.view(np.int32), -1, params["axis"]))


PACKERS: dict[str, Callable[[Array, Mapping[str, int]], Array]] = {
    "gemm_panels": gemm_panels,
    "winograd_panels": winograd_panels,
    "transposed_rows": transposed_rows,
    "row_panels": row_panels,
    "conv_panels": conv_panels,
    "pair_words": pair_words,
    "quad_words": quad_words,
    "as_float32": as_float32,
    "recurrent_gates": recurrent_gates,
    "recurrent_words": recurrent_words,
    "integers_as_floats": integers_as_floats,
}


def pack(layout: str, source: Array, params: Mapping[str, int]) -> Array:
    """`source` in the named layout, as a fresh contiguous array.

    Raises:
        OnnxloomError: there is no such layout.
    """
    packer = PACKERS.get(layout)
    if packer is None:
        raise OnnxloomError(f"loom.pack: there is no layout {layout!r}")
    return packer(source, params)
