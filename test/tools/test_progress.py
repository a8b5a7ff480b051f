"""The progress line: shown on a terminal when it takes long, gone afterwards, silent otherwise."""

from __future__ import annotations

import io
import sys
import time

import pytest

from onnxloom.tools import progress
from onnxloom.tools.progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(seconds: float) -> None:
    with ProgressLine("compiling m.onnx") as line:
        line("kernels", 3, 5)
        time.sleep(seconds)


def test_long_work_on_a_terminal_is_shown_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setattr(progress, "INTERVAL", 0.01)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    work(0.2)
    assert "\r\x1b[Kcompiling m.onnx: kernels (4/5) 0 s" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    work(0.0)
    assert terminal.getvalue() == ""


def test_nothing_goes_into_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    work(0.05)
    assert stream.getvalue() == ""
