"""Ops of ai.onnx.ml on rows of numbers, and on labels."""

from __future__ import annotations

from collections.abc import Sequence
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


def old_trees(
    draw: Draw, features: int, modes: Sequence[str]
) -> tuple[dict[str, Any], list[tuple[int, int]]]:
    """The nodes of some trees, and where their leaves are."""
    lists: dict[str, list[Any]] = {
        f"nodes_{name}": []
        for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                     "missing_value_tracks_true")
    }  # fmt: skip
    leaves: list[tuple[int, int]] = []
    own = draw.one_of(None, *modes)
    for tree in range(draw.size(1, 5)):
        waiting, count = [(0, draw.size(0, 3))], 1
        found: dict[int, tuple[Any, ...]] = {}
        while waiting:
            node, depth = waiting.pop()
            if depth == 0 or (node and draw.often(0.2)):
                found[node] = (0, 0.0, "LEAF", 0, 0, 0)
                leaves.append((tree, node))
                continue
            true, false = count, count + 1
            count += 2
            value = float(np.float32(round(draw.number(-2, 2), 1)))
            mode = own or draw.one_of(*modes)
            found[node] = (draw.size(0, features - 1), value, mode, true, false, draw.one_of(0, 1))
            waiting += [(true, depth - 1), (false, depth - 1)]
        for node in sorted(found):
            parts = (tree, node, *found[node])
            for name, part in zip(lists, parts, strict=True):
                lists[name].append(part)
    attributes: dict[str, Any] = dict(lists)
    if draw.often():
        del attributes["nodes_missing_value_tracks_true"]
    return attributes, leaves


def entries(
    draw: Draw, prefix: str, leaves: Sequence[tuple[int, int]], targets: int, many: bool
) -> dict[str, Any]:
    """What leaves weigh: one target each, or all of them."""
    found: dict[str, list[Any]] = {f"{prefix}_{n}": [] for n in ("treeids", "nodeids", "ids", "weights")}
    for tree, node in leaves:
        for target in range(targets) if many else [draw.size(0, targets - 1)]:
            for name, part in zip(found, (tree, node, target, floats(draw, 1)[0]), strict=True):
                found[name].append(part)
    return dict(found)


OLD_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def tree_rows(draw: Draw, features: int) -> Array:
    x = rows(draw, features, *NUMBERS)
    if x.dtype.kind == "f" and draw.often(0.3):
        x = np.where(draw.rng.random(x.shape) < 0.15, x.dtype.type(np.nan), x)
    return x


def as_doubles(attributes: dict[str, Any], *names: str) -> dict[str, Any]:
    """Lists of floats as tensors of f64, which version 3 has beside them."""
    from onnx import numpy_helper

    changed = dict(attributes)
    for name in names:
        if name in changed:
            values = np.array(changed.pop(name), np.float64)
            changed[f"{name}_as_tensor"] = numpy_helper.from_array(values, f"{name}_as_tensor")
    return changed


@cases_of("TreeEnsembleRegressor", domain=ML, limit=SUMS)
def tree_ensemble_regressor(draw: Draw) -> Case:
    features, targets = draw.size(1, 4), draw.size(1, 3)
    attributes, leaves = old_trees(draw, features, OLD_MODES)
    many = draw.often(0.4)
    attributes |= entries(draw, "target", leaves, targets, many) | {"n_targets": targets}
    if draw.often() and (many or targets == 1):
        # A target of which no row reaches a leaf has no base value in onnxruntime.
        attributes["base_values"] = floats(draw, targets)
    attributes |= draw.some({"aggregate_function": draw.one_of("SUM", "AVERAGE", "MIN", "MAX")})
    attributes |= draw.some({"post_transform": draw.one_of(*TRANSFORMS)}, 0.4)
    x = tree_rows(draw, features)
    x = x if x.dtype.kind == "f" else x.astype(np.float32)
    is_double = x.dtype == np.float64
    if is_double:
        attributes = as_doubles(attributes, "nodes_values", "target_weights", "base_values", "nodes_hitrates")
    return Case([x], attributes, opset=3 if is_double else draw.one_of(1, 3), is_dynamic=draw.often(0.3))


@cases_of("TreeEnsembleClassifier", domain=ML, limit=SUMS)
def tree_ensemble_classifier(draw: Draw) -> Case:
    features, classes = draw.size(1, 4), draw.size(2, 4)
    attributes, leaves = old_trees(draw, features, OLD_MODES)
    # Two classes with weights of both get 0 and 1 for labels, and rows without any of one garbage.
    form = "binary" if classes == 2 else draw.one_of("all", "one")
    if form == "binary":
        attributes |= entries(draw, "class", leaves, 1, many=True)
        if draw.often():
            attributes["class_ids"] = [1] * len(attributes["class_ids"])
    else:
        attributes |= entries(draw, "class", leaves, classes, form == "all")
    attributes |= labels(draw, classes, "classlabels_int64s", "classlabels_strings")
    is_second = set(attributes["class_ids"]) == {1}
    if draw.often(0.3) and not is_second:
        attributes["base_values"] = floats(draw, 1 if form == "binary" else classes)
    # A class of which a row reaches no leaf is not chosen, even where all others are below 0.
    if form == "one" or draw.often():
        attributes["class_weights"] = [abs(w) / 3 for w in attributes["class_weights"]]
    transforms = TRANSFORMS[: 4 if form == "binary" and not is_second else 5]
    attributes |= draw.some({"post_transform": draw.one_of(*transforms)}, 0.6)
    x = tree_rows(draw, features)
    is_double = x.dtype == np.float64
    if is_double:
        attributes = as_doubles(attributes, "nodes_values", "class_weights", "base_values")
    return Case([x], attributes, 2, opset=3 if is_double else draw.one_of(1, 3), is_dynamic=draw.often(0.3))


@cases_of("TreeEnsemble", domain=ML, limit=SUMS)
def tree_ensemble(draw: Draw) -> Case:
    from onnx import numpy_helper

    dtype, features, targets = draw.one_of(np.float32, np.float64), draw.size(1, 4), draw.size(1, 3)
    names = ("featureids", "splits", "modes", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    lists: dict[str, list[Any]] = {name: [] for name in names}
    members: list[float] = []
    leaf_count, roots, has_sets = 0, [], draw.often(0.3)
    for _ in range(draw.size(1, 5)):
        roots.append(len(lists["modes"]))
        waiting = [(None, "", draw.size(1, 3))]
        while waiting:
            parent, side, depth = waiting.pop()
            is_leaf = depth == 0 or (parent is not None and draw.often(0.2))
            at = leaf_count if is_leaf else len(lists["modes"])
            if parent is not None:
                lists[f"{side}nodeids"][parent], lists[f"{side}leafs"][parent] = at, int(is_leaf)
            if is_leaf:
                leaf_count += 1
                continue
            mode = draw.size(0, 6 if has_sets else 5)
            if mode == 6:
                members += [*(float(draw.size(-2, 2)) for _ in range(draw.size(1, 4))), float("nan")]
            for name in names:
                lists[name].append(0)
            lists["featureids"][at] = draw.size(0, features - 1)
            lists["splits"][at], lists["modes"][at] = round(draw.number(-2, 2), 1), mode
            waiting += [(at, "true", depth - 1), (at, "false", depth - 1)]
    attributes: dict[str, Any] = {f"nodes_{n}": v for n, v in lists.items() if n not in ("splits", "modes")}

    def tensor(values: Any, kind: Any, name: str) -> Any:
        return numpy_helper.from_array(np.array(values, kind), name)

    attributes |= {
        "nodes_splits": tensor(lists["splits"], dtype, "splits"),
        "nodes_modes": tensor(lists["modes"], np.uint8, "modes"),
        "leaf_weights": tensor(draw.normal(leaf_count), dtype, "weights"),
        "leaf_targetids": [int(v) for v in draw.below(targets, leaf_count)],
        "tree_roots": roots, "n_targets": targets, "aggregate_function": draw.size(0, 3),
        # onnxruntime takes 1 for the logistic function and 2 for the softmax: the other way round.
        "post_transform": draw.one_of(0, 0, 3, 4, *((1, 2) if targets == 1 else ())),
    }  # fmt: skip
    if members:
        attributes["membership_values"] = tensor(members, dtype, "members")
    if draw.often(0.4):
        attributes["nodes_missing_value_tracks_true"] = [int(v) for v in draw.below(2, len(lists["modes"]))]
    x = rows(draw, features, dtype)
    x = np.rint(x) if has_sets else x
    if draw.often(0.3):
        x = np.where(draw.rng.random(x.shape) < 0.15, dtype(np.nan), x)
    return Case([x], attributes, opset=5, is_dynamic=draw.often(0.3))
