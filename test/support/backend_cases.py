"""The backend cases of the installed onnx, each as a function that runs it and counts its host steps."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from onnx import ModelProto
from onnx.backend.test.runner import Runner

from onnxloom.backend import OnnxloomBackend, OnnxloomRep

CATEGORIES = ("Node", "Simple", "PyTorchConverted", "PyTorchOperator")
SKIPPED = Path(__file__).parent.parent / "conformance" / "skipped.txt"


class Recorder(OnnxloomBackend):
    """Remembers what the last case compiled."""

    last: OnnxloomRep | None = None

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> OnnxloomRep:
        options = {**kwargs, "cache": not os.environ.get("ONNXLOOM_CONFORMANCE_NO_CACHE")}
        Recorder.last = OnnxloomBackend.prepare(model, device, **options)
        return Recorder.last


@dataclass(frozen=True)
class Case:
    """One case of the suite."""

    name: str
    category: str
    function: Callable[..., None]

    def run(self) -> int:
        """Runs the case; gives its number of host steps. Raises what the case raises."""
        Recorder.last = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.function(None)
        assert Recorder.last is not None, "the case compiled nothing"
        return Recorder.last.model.host_steps


@cache
def cases() -> list[Case]:
    """All cases but those of models that would have to be downloaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        items = Runner(Recorder)._test_items  # pyright: ignore[reportPrivateUsage]
    return [
        Case(name.removesuffix("_cpu"), category, item.func)
        for category in CATEGORIES
        for name, item in sorted(items[f"{category}Model"].items())
        if name.endswith("_cpu")
    ]


@cache
def skipped() -> dict[str, str]:
    """Name -> reason, from `skipped.txt`."""
    lines = [line for line in SKIPPED.read_text().splitlines() if line and line[0] != "#"]
    return {name: reason for name, _, reason in (line.partition(" ") for line in lines)}
