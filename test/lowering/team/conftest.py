"""Small models and kernels are shared out too."""

from __future__ import annotations

import pytest

from onnxloom.lowering.plan import work


@pytest.fixture
def share_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "MIN_LAUNCH", 0)
    monkeypatch.setattr(work, "MIN_CHUNK", 1)
    monkeypatch.setattr(work, "WAKE", 0)
