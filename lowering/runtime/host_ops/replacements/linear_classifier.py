"""ai.onnx.ml LinearClassifier.

The reference refuses models whose coefficients are more than classes times features; runtimes read as
many as they need, and such models are in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces
from onnxloom.lowering.runtime.host_ops.replacements.post_transform import Array, post_transform, two_scores


@replaces("LinearClassifier", domain="ai.onnx.ml")
def linear_classifier(attributes: Attributes, x: Array) -> Sequence[Any]:
    """Labels and scores. One row of coefficients for two classes means scores of 1 - s and s."""
    x = x.reshape(1, -1) if x.ndim == 1 else x
    x = x if x.dtype == np.float64 else x.astype(np.float32)
    labels: list[Any] = attributes.get("classlabels_strings") or attributes.get("classlabels_ints") or []
    intercepts = np.array(attributes.get("intercepts") or [0.0], x.dtype)
    coefficients = np.array(attributes.values["coefficients"], x.dtype)
    features = x.shape[1]
    classes = len(intercepts) if attributes.get("intercepts") else coefficients.size // features
    if coefficients.size < classes * features:
        raise ValueError(f"{coefficients.size} coefficients for {classes} classes of {features} features")
    scores = x @ coefficients[: classes * features].reshape(classes, features).T + intercepts
    transform = attributes.get("post_transform", "NONE")
    if classes == 1 and len(labels) == 2:
        transformed = two_scores(scores, transform, 1 - scores)
        best = (scores[:, 0] > 0).astype(int)
    else:
        transformed = post_transform(scores, transform)
        best = scores.argmax(axis=1)
    names = np.array(
        labels or list(range(scores.shape[1])), object if attributes.get("classlabels_strings") else np.int64
    )
    return [names[best], transformed.astype(np.float32)]
