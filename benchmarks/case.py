"""What is one measured graph? A model with seeded inputs; work and bytes are counted on its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from benchmarks.architectures.writer import GraphWriter

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """One measured graph."""

    name: str
    model: onnx.ModelProto
    feeds: Mapping[str, Array]


class CaseWriter(GraphWriter):
    """Writes the graph of a case: inputs are arrays, drawn from the seed."""

    def __init__(self, name: str, seed: int = 0) -> None:
        super().__init__(name, seed)
        self.feeds: dict[str, Array] = {}

    def fed(self, name: str, *shape: int) -> str:
        """A graph input of normally distributed f32."""
        self.feeds[name] = self.rng.standard_normal(shape, np.float32)
        return self.input(name, shape)

    def case(self, result: str) -> Case:
        """What was written, with `result` as its output."""
        self.output(result, None)
        return Case(self.name, onnx.shape_inference.infer_shapes(self.model()), self.feeds)
