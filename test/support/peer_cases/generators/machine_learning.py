"""Ops of ai.onnx.ml on rows of numbers, and on labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from peer_cases.case import Array, Case
from peer_cases.draw import Draw
from peer_cases.registry import Limit, cases_of

ML = "ai.onnx.ml"
SAME = Limit(relative=0)
SUMS = Limit(relative=5e-5)
NOTHING = "no arithmetic"
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def rows(draw: Draw, features: int, *dtypes: Any) -> Array:
    """`[rows, features]` of one of the types."""
    dtype = draw.one_of(*dtypes) if dtypes else np.float32
    x = draw.normal(draw.size(1, 6), features, scale=2)
    return np.rint(x * 2).astype(dtype) if np.dtype(dtype).kind == "i" else x.astype(dtype)


NUMBERS = (np.float32, np.float32, np.float32, np.float64, np.int32, np.int64)


def floats(draw: Draw, count: int, scale: float = 1.0) -> list[float]:
    """Floats that f32 holds."""
    return [float(x) for x in draw.normal(count, scale=scale)]


def labels(draw: Draw, count: int, ints: str, strings: str) -> dict[str, Any]:
    """Labels of classes, numbers or strings."""
    order = [int(i) for i in draw.rng.permutation(count)]
    if draw.often(0.3):
        return {strings: [f"class {i}" for i in order]}
    return {ints: [3 * i - 1 for i in order] if draw.often() else list(range(count))}


@cases_of("Scaler", domain=ML, limit=Limit(relative=1e-6), reason="a difference and a product")
def scaler(draw: Draw) -> Case:
    features = draw.size(1, 5)
    counts = [draw.one_of(1, features)] * 2
    attributes = {n: floats(draw, c) for n, c in zip(("offset", "scale"), counts, strict=True)}
    return Case([rows(draw, features, *NUMBERS)], attributes, opset=1, is_dynamic=draw.often(0.3))


@cases_of("Normalizer", domain=ML, limit=Limit(relative=2e-6), reason="a sum and a quotient")
def normalizer(draw: Draw) -> Case:
    x = rows(draw, draw.size(1, 5), *NUMBERS)
    x[0] = np.abs(x[0])
    if draw.often(0.2):
        x[-1] = 0
    # The largest number, of which onnxruntime takes the sign into account.
    norm = draw.one_of("L1", "L2", "MAX")
    if norm == "MAX":
        x = np.abs(x) + np.ones((), x.dtype)
    return Case([x], {"norm": norm}, opset=1, is_dynamic=draw.often(0.3))


@cases_of("Binarizer", domain=ML, limit=SAME, reason=NOTHING)
def binarizer(draw: Draw) -> Case:
    return Case([rows(draw, draw.size(1, 5))], {"threshold": draw.number(-1, 1)}, opset=1)


@cases_of("Imputer", domain=ML, limit=SAME, reason=NOTHING)
def imputer(draw: Draw) -> Case:
    features = draw.size(1, 5)
    x = rows(draw, features, np.float32, np.int64)
    count = draw.one_of(1, features)
    if x.dtype == np.int64:
        attributes: dict[str, Any] = {
            "imputed_value_int64s": [int(v) for v in draw.below(9, count)], "replaced_value_int64": 1,
        }  # fmt: skip
    else:
        x = np.where(draw.rng.random(x.shape) < 0.3, np.float32(np.nan), np.rint(x))
        attributes = {"imputed_value_floats": floats(draw, count)}
        attributes["replaced_value_float"] = draw.one_of(float("nan"), 1.0)
    return Case([x], attributes, opset=1, is_dynamic=draw.often(0.3))


@cases_of("OneHotEncoder", domain=ML, limit=SAME, reason=NOTHING)
def one_hot_encoder(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    attributes = draw.some({"zeros": draw.one_of(0, 1)}, 0.7)
    if draw.often(0.3):
        words = ["a", "b", "c", "d"]
        x = np.array([draw.one_of(*words) for _ in range(int(np.prod(shape)))], object).reshape(shape)
        return Case([x], attributes | {"cats_strings": words[: draw.size(1, 4)]}, opset=1)
    x = draw.below(5, *shape).astype(draw.one_of(np.int64, np.float32, np.float64))
    cats = [int(v) for v in draw.rng.permutation(5)[: draw.size(1, 5)]]
    return Case([x], attributes | {"cats_int64s": cats}, opset=1, is_dynamic=draw.often(0.3))


@cases_of("ArrayFeatureExtractor", domain=ML, limit=SAME, reason=NOTHING)
def array_feature_extractor(draw: Draw) -> Case:
    shape = [draw.size(1, 5) for _ in range(draw.size(1, 3))]
    kind = draw.one_of("float", "int", "string")
    x: Any = draw.normal(*shape, dtype=draw.one_of(np.float32, np.float64))
    if kind == "int":
        x = draw.below(99, *shape, dtype=draw.one_of(np.int32, np.int64))
    elif kind == "string":
        x = np.array([f"s{i}" for i in range(int(np.prod(shape)))], object).reshape(shape)
    count = draw.size(1, 4)
    y = draw.below(shape[-1], *draw.one_of([count], [1, count]))
    return Case([x, y], opset=1, constant=[1] * draw.often(), is_dynamic=draw.often(0.2))


@cases_of("FeatureVectorizer", domain=ML, limit=SAME, reason=NOTHING)
def feature_vectorizer(draw: Draw) -> Case:
    count, dtype = draw.size(1, 4), draw.one_of(*NUMBERS)
    widths, n = [draw.size(1, 4) for _ in range(draw.size(1, 3))], draw.size(1, 4)
    inputs = [draw.below(9, n, w, low=-9).astype(dtype) for w in widths]
    said = [w + draw.one_of(0, 0, 1) for w in widths] if draw.often(0.3) else widths
    del count
    return Case(inputs, {"inputdimensions": said}, opset=1, is_dynamic=draw.often(0.3))


@cases_of("LabelEncoder", domain=ML, limit=SAME, reason=NOTHING)
def label_encoder(draw: Draw) -> Case:
    kinds = ("int64", "float", "string")
    source, target = draw.one_of(*kinds), draw.one_of(*kinds)
    count = draw.size(1, 6)
    keys: dict[str, Any] = {
        "int64": [int(v) for v in draw.rng.permutation(9)[:count]],
        "float": [float(v) for v in draw.rng.permutation(9)[:count]],
        "string": [f"k{v}" for v in draw.rng.permutation(9)[:count]],
    }
    values: dict[str, Any] = {
        "int64": [int(v) for v in draw.below(99, count)], "float": floats(draw, count),
        "string": [f"v{v}" for v in draw.below(99, count)],
    }  # fmt: skip
    if source == "float" and draw.often(0.3):
        keys["float"][0] = float("nan")
    defaults: dict[str, Any] = {"int64": -7, "float": 2.5, "string": "none"}
    attributes: dict[str, Any] = {f"keys_{source}s": keys[source], f"values_{target}s": values[target]}
    attributes |= draw.some({f"default_{target}": defaults[target]}, 0.7)
    numbers = draw.below(9, *draw.shape(0, 3))
    x: Any = numbers if source == "int64" else numbers.astype(np.float32)
    if source == "string":
        x = np.array([f"k{v}" for v in numbers.ravel()], object).reshape(numbers.shape)
    elif source == "float" and x.size and draw.often(0.3):
        x = np.where(x == 3, np.float32(np.nan), x)
    return Case([x], attributes, opset=draw.one_of(2, 4), is_dynamic=draw.often(0.2))


@cases_of("CategoryMapper", domain=ML, limit=SAME, reason=NOTHING)
def category_mapper(draw: Draw) -> Case:
    numbers = draw.below(6, *draw.shape(0, 3))
    attributes: dict[str, Any] = {"cats_int64s": [0, 1, 2, 4], "cats_strings": ["k0", "k1", "k2", "k4"]}
    attributes |= draw.some({"default_int64": -3, "default_string": "none"})
    x: Any = numbers
    if draw.often():
        x = np.array([f"k{v}" for v in numbers.ravel()], object).reshape(numbers.shape)
    return Case([x], attributes, opset=1)


@cases_of("LinearRegressor", domain=ML, limit=SUMS)
def linear_regressor(draw: Draw) -> Case:
    features, targets = draw.size(1, 5), draw.size(1, 3)
    attributes: dict[str, Any] = {"coefficients": floats(draw, features * targets), "targets": targets}
    attributes |= draw.some({"intercepts": floats(draw, targets)}, 0.7)
    attributes |= draw.some({"post_transform": draw.one_of(*TRANSFORMS)})
    return Case([rows(draw, features)], attributes, opset=1, is_dynamic=draw.often(0.3))


@cases_of("LinearClassifier", domain=ML, limit=SUMS)
def linear_classifier(draw: Draw) -> Case:
    features, classes = draw.size(1, 5), draw.size(2, 4)
    scores = 1 if classes == 2 and draw.often() else classes
    attributes = labels(draw, classes, "classlabels_ints", "classlabels_strings")
    attributes |= {"coefficients": floats(draw, features * scores), "intercepts": floats(draw, scores)}
    # Of one score PROBIT makes one, and leaves memory of the other as it was.
    transforms = TRANSFORMS[: 4 if scores == 1 else 5]
    attributes |= draw.some({"post_transform": draw.one_of(*transforms)}, 0.7)
    attributes |= draw.some({"multi_class": draw.one_of(0, 1)})
    return Case([rows(draw, features, *NUMBERS)], attributes, 2, opset=1, is_dynamic=draw.often(0.3))


def kernel_of(draw: Draw) -> dict[str, Any]:
    kind = draw.one_of("LINEAR", "POLY", "RBF", "SIGMOID")
    numbers = [draw.number(0.1, 0.5), draw.number(-0.5, 0.5), float(draw.size(1, 3))]
    return {"kernel_type": kind, "kernel_params": numbers}


@cases_of("SVMRegressor", domain=ML, limit=SUMS)
def svm_regressor(draw: Draw) -> Case:
    features, supports = draw.size(1, 4), draw.size(1, 6)
    attributes = kernel_of(draw) | {
        "coefficients": floats(draw, supports), "support_vectors": floats(draw, supports * features),
        "n_supports": supports, "rho": floats(draw, 1),
    }  # fmt: skip
    attributes |= draw.some({"one_class": 1}, 0.2)
    attributes |= draw.some({"post_transform": draw.one_of(*TRANSFORMS)}, 0.3)
    return Case([rows(draw, features)], attributes, opset=1, is_dynamic=draw.often(0.3))


@cases_of("SVMClassifier", domain=ML, limit=SUMS)
def svm_classifier(draw: Draw) -> Case:
    features, classes = draw.size(1, 4), draw.size(2, 4)
    attributes = kernel_of(draw) | labels(draw, classes, "classlabels_ints", "classlabels_strings")
    pairs = classes * (classes - 1) // 2
    if draw.often(0.15):
        # Without support vectors there is a row of coefficients per class.
        attributes |= {"coefficients": floats(draw, classes * features), "rho": floats(draw, 1)}
        attributes["kernel_type"] = "LINEAR"
    else:
        per_class = [draw.size(1, 3) for _ in range(classes)]
        supports = sum(per_class)
        attributes |= {
            "vectors_per_class": per_class, "support_vectors": floats(draw, supports * features),
            "coefficients": floats(draw, supports * (classes - 1)), "rho": floats(draw, pairs),
        }  # fmt: skip
        if draw.often():
            attributes |= {
                "prob_a": [-abs(v) - 0.2 for v in floats(draw, pairs)],
                "prob_b": floats(draw, pairs),
            }
    transforms = TRANSFORMS[: 4 if classes == 2 and "prob_a" not in attributes else 5]
    attributes |= draw.some({"post_transform": draw.one_of(*transforms)}, 0.4)
    return Case([rows(draw, features, *NUMBERS)], attributes, 2, opset=1, is_dynamic=draw.often(0.3))


@cases_of("ZipMap", domain=ML, limit=SAME, reason=NOTHING)
def zip_map(draw: Draw) -> Case:
    count = draw.size(1, 5)
    return Case([draw.normal(draw.size(1, 4), count)],
                labels(draw, count, "classlabels_int64s", "classlabels_strings"), opset=1)  # fmt: skip
