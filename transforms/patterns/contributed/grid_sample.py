"""com.microsoft GridSample(X, Grid) -> GridSample(X, Grid), which calls the modes linear and cubic"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op

_MODES: Mapping[str, str] = {"bilinear": "linear", "bicubic": "cubic"}


class ContributedGridSamplePattern(ContributedOpPattern):
    op_type = "GridSample"
    operands = ("X", "Grid")
    attributes: ClassVar[Mapping[str, Any]] = {
        "align_corners": 0,
        "mode": "bilinear",
        "padding_mode": "zeros",
    }
    min_opset = 20

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        mode = match.attribute("mode")
        return op.GridSample(
            inputs.X,
            inputs.Grid,
            align_corners=match.attribute("align_corners"),
            mode=_MODES.get(mode, mode),
            padding_mode=match.attribute("padding_mode"),
        )
