"""ai.onnx.ml SVMClassifier and SVMRegressor.

The reference compares probabilities of several classes in another way than runtimes, which follow LIBSVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces
from onnxloom.lowering.runtime.host_ops.replacements.activations import sigmoid
from onnxloom.lowering.runtime.host_ops.replacements.post_transform import (
    Array,
    post_transform,
    two_scores,
)

_DOMAIN = "ai.onnx.ml"
_ROUNDS = 100


@replaces("SVMRegressor", domain=_DOMAIN)
def svm_regressor(attributes: Attributes, x: Array) -> Sequence[Any]:
    """`K(x, support vectors) @ coefficients + rho`; no runtime transforms it further."""
    x = x.reshape(1, -1) if x.ndim == 1 else x
    x = x if x.dtype == np.float64 else x.astype(np.float32)
    supports = int(attributes.get("n_supports", 0))
    coefficients = np.array(attributes.values["coefficients"], x.dtype)
    similar = _similarities(attributes, x, supports) if supports else x
    y = (similar @ coefficients + x.dtype.type(attributes.values["rho"][0]))[:, None]
    if attributes.get("one_class", 0):
        y = np.where(y > 0, 1, -1).astype(x.dtype)
    return [y.astype(np.float32)]


@replaces("SVMClassifier", domain=_DOMAIN)
def svm_classifier(attributes: Attributes, x: Array) -> Sequence[Any]:
    """Labels and scores: of classes, or of pairs of classes without probabilities."""
    x = (x.reshape(1, -1) if x.ndim == 1 else x).astype(np.float32)
    names: list[Any] = attributes.get("classlabels_strings") or attributes.get("classlabels_ints") or []
    labels = np.array(names, object if attributes.get("classlabels_strings") else np.int64)
    coefficients, rho = (np.array(attributes.values[name], np.float32) for name in ("coefficients", "rho"))
    per_class: list[int] = attributes.get("vectors_per_class") or []
    transform, classes = attributes.get("post_transform", "NONE"), len(names)
    if not sum(per_class):
        scores = x @ coefficients.reshape(classes, -1).T + rho[0]
        best = scores.argmax(axis=1)
        if classes == 2:
            is_second = scores.max(axis=1) >= 0.5 if (coefficients >= 0).all() else scores.max(axis=1) > 0
            has_probabilities = bool(attributes.get("prob_a"))
            best = best if has_probabilities else np.where(is_second, 1, best)
        return [labels[best], post_transform(scores, transform).astype(np.float32)]
    kernels = _similarities(attributes, x, sum(per_class))
    pairs = _pairs(kernels, coefficients.reshape(classes - 1, -1), rho, per_class)
    best = _most_votes(pairs, classes)
    if attributes.get("prob_a"):
        a, b = (np.array(attributes.values[name], np.float32) for name in ("prob_a", "prob_b"))
        return [labels[best], post_transform(_probabilities(pairs, a, b, classes), transform)]
    if classes == 2:
        return [labels[best], two_scores(pairs, transform, -pairs if transform == "NONE" else 1 - pairs)]
    return [labels[best], post_transform(pairs, transform)]


def _similarities(attributes: Attributes, x: Array, supports: int) -> Array:
    """`[rows, supports]`."""
    vectors = np.array(attributes.values["support_vectors"], x.dtype).reshape(supports, -1)
    kernel = attributes.get("kernel_type", "LINEAR")
    gamma, shift, degree = (x.dtype.type(v) for v in attributes.get("kernel_params") or (0, 0, 0))
    if kernel == "RBF":
        return np.exp(-gamma * ((x[:, None, :] - vectors) ** 2).sum(axis=2))
    products = x @ vectors.T
    if kernel == "LINEAR":
        return products
    if kernel not in ("POLY", "SIGMOID"):
        raise ValueError(f"unknown kernel_type {kernel!r}")
    shifted = gamma * products + shift
    return np.tanh(shifted) if kernel == "SIGMOID" else shifted ** int(degree)


def _pairs(kernels: Array, coefficients: Array, rho: Array, per_class: list[int]) -> Array:
    """`[rows, pairs]`: above 0 where the first class of a pair is the more likely one."""
    ends = np.cumsum([0, *per_class])
    columns: list[Array] = []
    for i in range(len(per_class)):
        for j in range(i + 1, len(per_class)):
            of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            sums = kernels[:, of_i].astype(np.float64) @ coefficients[j - 1, of_i]
            sums = sums + kernels[:, of_j].astype(np.float64) @ coefficients[i, of_j]
            columns.append(sums + rho[len(columns)])
    return np.stack(columns, axis=1).astype(np.float32)


def _most_votes(pairs: Array, classes: int) -> Array:
    votes = np.zeros((len(pairs), classes), np.int64)
    for at, (i, j) in enumerate(combinations(range(classes), 2)):
        votes[:, i] += pairs[:, at] > 0
        votes[:, j] += ~(pairs[:, at] > 0)
    return votes.argmax(axis=1)


def _probabilities(pairs: Array, a: Array, b: Array, classes: int) -> Array:
    """Those of classes, of the scores of pairs (Wu, Lin, Weng: "Probability estimates", second approach)."""
    likely = np.clip(1 - sigmoid(pairs * a + b), np.float32(1e-7), np.float32(1 - 1e-7))
    r = np.zeros((len(pairs), classes, classes), np.float32)
    at = np.triu_indices(classes, 1)
    r[:, at[0], at[1]], r[:, at[1], at[0]] = likely, 1 - likely
    return np.array([_coupled(each) for each in r], np.float32).reshape(-1, classes)


def _coupled(r: Array) -> Array:
    classes = len(r)
    q = -r.T * r
    np.fill_diagonal(q, 0)
    np.fill_diagonal(q, (r * r).sum(axis=0))
    p = np.full(classes, 1 / classes, np.float32)
    for _ in range(_ROUNDS):
        qp = q @ p
        pqp = p @ qp
        # NaN is no error: rows of NaN end as they began.
        if np.fmax.reduce(np.abs(qp - pqp), initial=0) < 0.005 / classes:
            break
        for i in range(classes):
            diff = (pqp - qp[i]) / q[i, i]
            p[i] += diff
            pqp = (pqp + diff * (diff * q[i, i] + 2 * qp[i])) / (1 + diff) / (1 + diff)
            qp = (qp + diff * q[i]) / (1 + diff)
            p = p / (1 + diff)
    return p
