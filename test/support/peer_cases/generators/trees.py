"""Ensembles of trees of ai.onnx.ml, in the form of version 5 and in the older ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from peer_cases.case import Array, Case
from peer_cases.draw import Draw
from peer_cases.generators.machine_learning import ML, NUMBERS, SUMS, TRANSFORMS, floats, labels, rows
from peer_cases.registry import cases_of


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
