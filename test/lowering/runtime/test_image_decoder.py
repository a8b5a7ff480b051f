"""Are images decoded, and are what is missing and what is broken said in one line?"""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from numerics import compiled, graph_model
from PIL import Image

from onnxloom.errors import InputError, UnsupportedOpError

PIXELS = np.random.default_rng(2).integers(0, 256, (5, 7, 3)).astype(np.uint8)


def decoded(data: bytes, **attrs: Any) -> np.ndarray[Any, Any]:
    encoded = np.frombuffer(data, np.uint8)
    node = oh.make_node("ImageDecoder", ["x"], ["y"], **attrs)
    proto = graph_model([node], {"x": encoded}, {"y": PIXELS})
    with pytest.warns(match="ImageDecoder runs in Python"):
        return compiled(proto).run({"x": encoded})["y"]


def encoded(mode: str = "RGB", form: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.fromarray(PIXELS).convert(mode).save(file, form)
    return file.getvalue()


def test_pixel_formats() -> None:
    np.testing.assert_array_equal(decoded(encoded()), PIXELS)
    np.testing.assert_array_equal(decoded(encoded(), pixel_format="BGR"), PIXELS[:, :, ::-1])
    grey = np.asarray(Image.fromarray(PIXELS).convert("L"))[:, :, None]
    np.testing.assert_array_equal(decoded(encoded(), pixel_format="Grayscale"), grey)


def test_other_modes_become_rgb() -> None:
    np.testing.assert_array_equal(decoded(encoded("RGBA")), PIXELS)
    assert decoded(encoded("L")).shape == (5, 7, 3)


def test_bytes_that_are_no_image_are_refused() -> None:
    for data in (b"no image", encoded()[:60], b""):
        with pytest.raises(InputError, match="the bytes are no image that can be decoded"):
            decoded(data)


def test_an_unknown_pixel_format_is_refused() -> None:
    with pytest.raises(UnsupportedOpError, match="not CMYK"):
        decoded(encoded(), pixel_format="CMYK")


def test_without_pillow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded()
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UnsupportedOpError, match=r"pip install onnxloom\[images\]"):
        decoded(data)
