"""A BatchNormalization that changes nothing goes, or stays for a reason."""

from __future__ import annotations

from typing import Any

import onnx as standard
import pytest
from rewritten import op_names
from text_models import model_of

from onnxloom.testing import Abs
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.batch_normalization import BatchNormalizationPattern


def norm(
    attributes: str = "epsilon = 0.0",
    s: str = "1, 1, 1",
    b: str = "0, 0, 0",
    m: str = "0, 0, 0",
    v: str = "1, 1, 1",
    inputs: str = "",
    op: str = "y = BatchNormalization",
) -> standard.ModelProto:
    parameters = {"s": s, "b": b, "m": m, "v": v}
    kept = ", ".join(f"float[3] {name} = {{{value}}}" for name, value in parameters.items() if value)
    head = f"agraph (float[N, 3, 4] x{inputs}) => (float[N, 3, 4] y)"
    return model_of(f"{head} <{kept}> {{ {op} <{attributes}> (x, s, b, m, v) }}")


def test_becomes_the_identity() -> None:
    done = check_pattern(norm(), BatchNormalizationPattern, tolerance=Abs(0))
    assert op_names(done) == ["Identity"]


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "training": (
        "training mode",
        {
            "attributes": "epsilon = 0.0, training_mode = 1, momentum = 0.0",
            "op": "y, rm, rv = BatchNormalization",
        },
    ),
    "epsilon": ("epsilon is not 0", {"attributes": "momentum = 0.9"}),
    "scale": ("ones and zeros", {"s": "1, 2, 1"}),
    "bias": ("ones and zeros", {"b": "0, 0, 1"}),
    "mean": ("ones and zeros", {"m": "1, 0, 0"}),
    "variance": ("ones and zeros", {"v": "1, 1, 4"}),
    "computed": ("ones and zeros", {"s": "", "inputs": ", float[3] s"}),
}


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(norm(**changes), BatchNormalizationPattern)
