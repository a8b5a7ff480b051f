"""ImageDecoder: files in other modes than their name says become RGB too; Pillow is an extra of its own."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from onnxloom.errors import InputError, UnsupportedOpError
from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]

_MODES = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}


@replaces("ImageDecoder")
def image_decoder(attributes: Attributes, encoded: Array) -> list[Array]:
    """`[height, width, channels]` of u8 from the bytes of a file.

    Raises:
        UnsupportedOpError: Pillow is not installed, or the pixel format is none of the standard's.
        InputError: the bytes are no image.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise UnsupportedOpError("ImageDecoder needs Pillow: `pip install onnxloom[images]`") from error
    wanted = str(attributes.get("pixel_format", "RGB"))
    if wanted not in _MODES:
        raise UnsupportedOpError(f"ImageDecoder gives {', '.join(_MODES)}, not {wanted}")
    try:
        with Image.open(io.BytesIO(np.ascontiguousarray(encoded).tobytes())) as image:
            pixels = np.asarray(image.convert(_MODES[wanted]))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"ImageDecoder: the bytes are no image that can be decoded: {error}") from error
    if wanted == "BGR":
        pixels = pixels[:, :, ::-1]
    return [np.ascontiguousarray(pixels.reshape(*pixels.shape[:2], -1))]
