"""Which groups of models and graphs are measured, and which ratios are they to reach?"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import onnx

from benchmarks import architectures, cases
from benchmarks.architectures.files import names, write_model
from onnxloom.tools.fetch_models import read_index

SMALL: Final = 1e-3
"""Seconds onnxruntime takes below which a fetched model counts as small."""


@dataclass(frozen=True)
class Goal:
    """The least ratios (onnxruntime's time / ours) of a group."""

    title: str
    each: float | None = None
    mean: float | None = None
    """Geometric."""
    by_family: bool = False
    """Whether it is the mean of the means of families."""


GOALS: Final[Mapping[str, Goal]] = {
    "gemm": Goal("GEMM", 0.97, 1.08),
    "gemm-gelu": Goal("GEMM + bias + GELU", 1.10),
    "gemm-residual": Goal("GEMM + bias + residual + ReLU", 1.10),
    "attention": Goal("attention core", 1.15),
    "convolutions": Goal("convolutions", 0.85, 1.15),
    "depthwise": Goal("depthwise convolutions", None, 1.8),
    "norms": Goal("LayerNorm, RMSNorm, residual + LayerNorm", 2.0),
    "softmax": Goal("softmax over the last axis", 0.9, 1.0),
    "chains": Goal("elementwise chains of 8", 4.0),
    "bert_base": Goal("BERT-base", 1.10),
    "resnet50": Goal("ResNet-50", 1.05),
    "mobilenetv2": Goal("MobileNetV2", 1.05),
    "vit_tiny": Goal("ViT-tiny", 1.10),
    "gpt2_decode": Goal("GPT-2 decode step", 1.2),
    "lstm": Goal("LSTM"),
    "int8": Goal("int8 models", 1.0),
    "large": Goal("fetched models, 1 ms and more", 0.9, 1.2, by_family=True),
    "small": Goal("fetched models under 1 ms", None, 1.3),
    "with-host-steps": Goal("fetched models with steps in Python"),
}

_CASES: Final[Mapping[str, cases.Cases]] = {
    "gemm": cases.GEMM,
    "gemm-gelu": cases.GEMM_GELU,
    "gemm-residual": cases.GEMM_RESIDUAL,
    "attention": cases.ATTENTION,
    "norms": cases.NORMS,
    "softmax": cases.SOFTMAX,
    "chains": cases.CHAINS,
}

_CASE_MODULES: Final = ("convolutions", "depthwise")

INT8: Final = ("minilm_l6_int8dq",)
"""Fetched models that count as int8 models."""


@dataclass(frozen=True)
class Subject:
    """One model to measure."""

    group: str
    """`fetched` until it is known how long it takes."""
    name: str
    path: Path
    feeds: Mapping[str, Any]
    family: str = ""


def group_names() -> list[str]:
    """What can be asked for; `fetched` are the last three of GOALS."""
    return [name for name in GOALS if name not in ("large", "small", "with-host-steps")] + ["fetched"]


def subjects(wanted: Sequence[str], folder: Path, models: Path) -> Iterator[Subject]:
    """The models of the groups `wanted`, one by one; those that are built are written to `folder`."""
    for group in wanted:
        if group == "fetched":
            yield from _fetched(models)
        elif group == "int8":
            yield from _int8(folder, models)
        elif group in architectures.NAMES:
            yield from _architecture(group, folder)
        else:
            yield from _graphs(group, folder)


def _graphs(group: str, folder: Path) -> Iterator[Subject]:
    for build in _cases_of(group).values():
        case = build()
        path = folder / "case.onnx"
        onnx.save(case.model, path)  # pyright: ignore[reportUnknownMemberType]
        yield Subject(group, case.name, path, case.feeds)


def _cases_of(group: str) -> cases.Cases:
    if group not in _CASE_MODULES:
        return _CASES[group]
    if find_spec(f"benchmarks.{group}") is None:
        return {}
    return cast("cases.Cases", importlib.import_module(f"benchmarks.{group}").CASES)


def _architecture(name: str, folder: Path) -> Iterator[Subject]:
    """A decoder with caches of several lengths."""
    for past in (128, 256, 512) if name == "gpt2_decode" else (0,):
        path, inputs = folder / "model.onnx", folder / "inputs.npz"
        write_model(name, str(path), str(inputs), past)
        title = f"{name} on {past} tokens" if past else name
        yield Subject(name, title, path, _arrays(inputs))
        path.unlink()


def _int8(folder: Path, models: Path) -> Iterator[Subject]:
    for name in INT8:
        yield from _of_folder(models / name, "int8", name)
    for name in sorted(set(names()) - set(architectures.NAMES)):
        for subject in _architecture(name, folder):
            yield Subject("int8", subject.name, subject.path, subject.feeds)


def _fetched(models: Path) -> Iterator[Subject]:
    for model in read_index():
        if model.name not in INT8:
            yield from _of_folder(models / model.name, "fetched", model.name, model.family)


def _of_folder(folder: Path, group: str, name: str, family: str = "") -> Iterator[Subject]:
    if (folder / "model.onnx").is_file():
        yield Subject(group, name, folder / "model.onnx", _arrays(folder / "inputs.npz"), family)


def _arrays(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as loaded:
        return dict(loaded)
