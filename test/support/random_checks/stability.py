"""Which differences does rounding explain? Those that small disturbances of the graph cause as well.

Each inexact op of the graph is evaluated again on inputs and with results that are off by a few units in
the last place. What an output then does (spreads, jumps, turns infinite) rounding elsewhere may do too.
An output that no inexact op reaches may not change at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from host_graph import Host
from onnx import ModelProto, NodeProto

from onnxloom.testing.elements import is_float

Array = np.ndarray[Any, Any]

EXACT_OPS = frozenset((
    "Abs", "And", "ArgMax", "ArgMin", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor",
    "Cast", "CastLike", "Ceil", "Clip", "Compress", "Concat", "ConcatFromSequence", "Constant",
    "ConstantOfShape", "DepthToSpace", "Dropout", "Equal", "Expand", "Flatten", "Floor", "Gather",
    "GatherElements", "GlobalMaxPool", "Greater", "GreaterOrEqual", "Identity", "IsInf", "IsNaN",
    "Less", "LessOrEqual", "Max", "MaxPool", "Min", "Neg", "NonZero", "Not", "OneHot", "Or", "Pad",
    "Range", "ReduceMax", "ReduceMin", "Relu", "Reshape", "Round", "ScatterElements", "SequenceAt",
    "SequenceConstruct", "SequenceInsert", "SequenceLength", "Shape", "Sign", "Size", "Slice",
    "SpaceToDepth", "Split", "SplitToSequence", "Squeeze", "ThresholdedRelu", "Tile", "TopK",
    "Transpose", "Trilu", "Unsqueeze", "Where", "Xor",
))  # fmt: skip
"""Ops whose result is one of their inputs' elements, a whole number, or a truth value."""

SIGNLESS_ZERO_OPS = frozenset(
    ("Max", "Min", "Relu", "Clip", "ReduceMax", "ReduceMin", "MaxPool", "GlobalMaxPool")
)
"""Ops for which the standard does not say which of 0.0 and -0.0 they give."""

CANCELLING_OPS = frozenset(("Gelu",))
"""Ops whose formula adds 1 to what is near -1: off by units in the last place of their input."""

DISTURBANCE = 4.0
"""Units in the last place by which inputs and results of inexact ops are off."""

FACTOR = 16.0
"""How much further than the disturbed graphs an output may be from the graph's own."""


class Disturbed(Host):
    """A host on which inexact ops are a little off."""

    def __init__(self, seed: int, lean: int):
        super().__init__()
        self._rng = np.random.default_rng(seed)
        self._grains: dict[str, float] = {}
        """By name: the step of the narrowest float that a value was computed from."""
        self._lean = lean
        """-1, 1: all in this direction; 0: each element in a random one."""

    def node(self, node: NodeProto, values: Mapping[str, Any]) -> list[Any]:
        if node.op_type in ("If", "Loop", "Scan"):
            return super().node(node, values)
        if node.op_type in EXACT_OPS:
            results = super().node(node, values)
            grain = max((self._grain(name, values) for name in node.input if name), default=0.0)
            self._grains.update(dict.fromkeys(node.output, grain))
            return [self._signs(r) for r in results] if node.op_type in SIGNLESS_ZERO_OPS else results
        grain = max((self._grains.get(name, 0.0) for name in node.input), default=0.0)
        self._grains.update(dict.fromkeys(node.output, grain))
        inputs = {name: self._off(values[name], self._grains.get(name, 0.0)) for name in node.input if name}
        results = [self._off(result, grain) for result in super().node(node, inputs)]
        if node.op_type in CANCELLING_OPS:
            results = [self._off_like(results[0], inputs[node.input[0]])]
        if self._lean:
            return results
        wide = self._wide_results(node, inputs, results)
        return [self._in_range(result, other) for result, other in zip(results, wide, strict=True)]

    def _off_like(self, value: Array, scale: Array) -> Array:
        """The value, off by some steps of numbers as large as `scale`."""
        eps = DISTURBANCE * float(ml_dtypes.finfo(value.dtype).eps)
        direction = self._lean or self._rng.choice((-1.0, 0.0, 1.0), value.shape)
        step = np.where(np.isfinite(scale), eps * np.abs(scale.astype(np.float64)), 0)
        return np.asarray(value.astype(np.float64) + direction * step).astype(value.dtype)

    def _wide_results(
        self, node: NodeProto, inputs: Mapping[str, Any], results: Sequence[Any]
    ) -> Sequence[Any]:
        """What the node gives where nothing overflows: numbers for numbers, else what it gives in f64.

        None for each result where that cannot be said.
        """
        floats = {name: v for name, v in inputs.items() if isinstance(v, np.ndarray) and is_float(v.dtype)}
        doubles = {name: value.astype(np.float64) for name, value in floats.items()}
        if all(np.isfinite(value).all() for value in doubles.values()):
            return [np.zeros(np.shape(result)) for result in results]
        try:
            with np.errstate(all="ignore"):
                return super().node(node, {**inputs, **doubles})
        except (ValueError, IndexError, TypeError, RuntimeError, AttributeError, NotImplementedError):
            return [None] * len(results)

    def _grain(self, name: str, values: Mapping[str, Any]) -> float:
        """The relative step of a value, or of the narrower one it was cast from."""
        value = values[name]
        is_other = not isinstance(value, np.ndarray) or not is_float(value.dtype)
        own = 0.0 if is_other else float(ml_dtypes.finfo(value.dtype).eps)
        return max(own, self._grains.get(name, 0.0))

    def _off(self, value: Any, grain: float) -> Any:
        """The value, off by some steps of its own type or of the narrower one it comes from.

        A rewrite may compute in that narrower type what the graph computes between two casts.
        """
        if not isinstance(value, np.ndarray) or not is_float(value.dtype):
            return value
        eps = max(float(ml_dtypes.finfo(value.dtype).eps), grain)
        direction = self._lean or self._rng.choice((-1.0, 0.0, 1.0), value.shape)
        wide = value.astype(np.float64)
        with np.errstate(all="ignore"):
            off = wide * (1 + DISTURBANCE * eps * direction)
            # A denormal is off by a step at least.
            off += direction * np.where(wide != 0, float(ml_dtypes.finfo(value.dtype).smallest_subnormal), 0)
            return np.asarray(np.where(np.isfinite(wide), off, wide)).astype(value.dtype)

    def _in_range(self, value: Any, wide_value: Any) -> Any:
        """Now and then, numbers where the op overflowed (`wide_value` is finite) or underflowed.

        What spells Softmax or Attention leaves the range where the op itself, which shifts and scales first,
        does not; what it then gives says nothing.
        """
        if not isinstance(value, np.ndarray) or not is_float(value.dtype):
            return value
        info = ml_dtypes.finfo(value.dtype)
        wide = value.astype(np.float64)
        chosen = self._rng.random(value.shape) < 0.5
        if isinstance(wide_value, np.ndarray) and wide_value.shape == value.shape:
            overflowed = np.isinf(wide) & np.isfinite(wide_value.astype(np.float64))
            wide = np.where(chosen & overflowed, np.sign(wide) * float(info.max), wide)
            # NaN of numbers alone: an intermediate result overflowed, in another order it may not.
            undefined = np.isnan(wide) & np.isfinite(wide_value.astype(np.float64))
            wide = np.where(chosen & undefined, 0.0, wide)
        wide = np.where(chosen & (wide == 0), float(info.smallest_subnormal), wide)
        return np.asarray(wide).astype(value.dtype)

    def _signs(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray) or not is_float(value.dtype):
            return value
        flipped = self._rng.random(value.shape) < 0.5
        return np.where((value == 0) & flipped, -value, value).astype(value.dtype)


class Stability:
    """What the outputs of a model are, and how far rounding may move them."""

    def __init__(self, model: ModelProto, feeds: Mapping[str, Array], wanted: Mapping[str, Any]):
        self._model = model
        self._feeds = feeds
        self._wanted = wanted
        self._runs: list[dict[str, Any]] = []

    def explains(self, got: Mapping[str, Any]) -> bool:
        """Whether all outputs are within what rounding can do; more disturbed runs decide close cases."""
        for count in (6, 40):
            self._run_until(count)
            if all(self._explains(name, got[name]) for name in self._wanted):
                return True
        return False

    def unexplained(self, got: Mapping[str, Any]) -> list[str]:
        """Names of the outputs that rounding does not explain."""
        return [name for name in self._wanted if not self._explains(name, got[name])]

    def _run_until(self, count: int) -> None:
        names = [output.name for output in self._model.graph.output]
        while len(self._runs) < count:
            lean = (-1, 1)[len(self._runs)] if len(self._runs) < 2 else 0
            host = Disturbed(len(self._runs), lean)
            try:
                results = host.graph(self._model.graph, self._feeds)
            except (ValueError, IndexError, TypeError):
                # A size or an index that is computed from floats is off: nothing can be said.
                results = [None] * len(names)
            self._runs.append(dict(zip(names, results, strict=True)))

    def _explains(self, name: str, got: Any) -> bool:
        want = self._wanted[name]
        runs = [run[name] for run in self._runs]
        if not isinstance(want, np.ndarray):
            return False
        if any(run is None or run.shape != want.shape for run in runs):
            return True
        return got.shape == want.shape and got.dtype == want.dtype and _within(got, want, runs)


def _within(got: Array, want: Array, runs: Sequence[Array]) -> bool:
    if not is_float(want.dtype):
        steady = np.all([run == want for run in runs], axis=0)
        return bool(np.all((got == want) | ~steady))
    g, w, *r = (a.astype(np.float64) for a in (got, want, *runs))
    same_class = np.all([_class(run) == _class(w) for run in r], axis=0)
    info = ml_dtypes.finfo(want.dtype)
    with np.errstate(all="ignore"):
        spread = np.max([np.abs(run - w) for run in r], axis=0, initial=0)
        moved = spread > 0
        near = np.abs(g - w) <= FACTOR * (spread + moved * float(info.eps) * np.abs(w))
        near |= (np.abs(g - w) <= float(info.smallest_normal)) & moved
        # Among the denormals a disturbance in proportion may be less than one step.
        near |= (np.abs(g - w) <= 2 * float(info.smallest_subnormal)) & moved.any()
    steady_equal = (_class(g) == _class(w)) & (near | ~np.isfinite(w) | (g == w))
    return bool(np.all(steady_equal | ~same_class))


def _class(a: Array) -> Array:
    """0 for finite numbers, else which of NaN and the infinities."""
    return np.where(np.isnan(a), 2, np.where(np.isinf(a), np.sign(a), 0))
