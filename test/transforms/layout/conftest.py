"""Convolutions of the cases in this folder are small, and pay nevertheless."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def convolutions_save_much(monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxloom.transforms.layout.rules import convolution

    monkeypatch.setattr(convolution, "convolution_saves", lambda *_: 1e5)  # pyright: ignore
