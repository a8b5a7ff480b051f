"""The backend cases of the installed onnx, each as a function that runs it and counts its host steps."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from onnx import ModelProto
from onnx.backend.test.runner import Runner

from onnxloom.backend import OnnxloomBackend, OnnxloomRep
from onnxloom.lowering.runtime.model import CompiledModel
from onnxloom.tools.coverage.evidence import OpName

CATEGORIES = ("Node", "Simple", "PyTorchConverted", "PyTorchOperator")
SKIPPED = Path(__file__).parent.parent / "conformance" / "skipped.txt"


class Recorder(OnnxloomBackend):
    """Remembers what the last case compiled."""

    last: OnnxloomRep | None = None
    source: ModelProto | None = None

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> OnnxloomRep:
        options = {**kwargs, "cache": not os.environ.get("ONNXLOOM_CONFORMANCE_NO_CACHE")}
        Recorder.source = model
        Recorder.last = OnnxloomBackend.prepare(model, device, **options)
        return Recorder.last


@dataclass(frozen=True)
class Outcome:
    """What a case that passes ran."""

    ops: frozenset[OpName]
    """The ops of its model, those of bodies and functions included."""
    host: dict[OpName, str]
    """The ops that ran in Python, with the reason."""


@dataclass(frozen=True)
class Case:
    """One case of the suite."""

    name: str
    category: str
    function: Callable[..., None]

    def run(self) -> Outcome:
        """Runs the case. Raises what the case raises."""
        Recorder.last = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.function(None)
        assert Recorder.last is not None and Recorder.source is not None, "the case compiled nothing"
        return Outcome(frozenset(ops_of(Recorder.source)), host_ops_of(Recorder.last.model))


def ops_of(model: ModelProto) -> Iterator[OpName]:
    """Every op that a model contains."""
    graphs: list[Any] = [model.graph, *model.functions]
    local = {(function.domain, function.name) for function in model.functions}
    while graphs:
        for node in graphs.pop().node:
            name = ("" if node.domain == "ai.onnx" else node.domain, node.op_type)
            if name not in local:
                yield name
            for attribute in node.attribute:
                graphs += [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]


def host_ops_of(model: CompiledModel) -> dict[OpName, str]:
    """The ops that a model ran in Python so far, with the reason."""
    reasons = {title: reason for part in (model, *model.variants) for title, reason in part.artifact.notes}
    found: dict[OpName, str] = {}
    for title, count in model.host_counts.items():
        domain, _, name = title.partition(' "')[0].rpartition(".")
        if count:
            found[domain, name] = reasons.get(title, "")
    return found


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
