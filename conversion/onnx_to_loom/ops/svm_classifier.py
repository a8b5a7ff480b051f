"""SVMClassifier with probabilities: a row's similarities to the support vectors, scores of pairs, coupling.

Other forms, labels that are strings and what follows the probabilities are ops of their own
(`transforms/patterns/machine_learning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    rank_of,
    ranked,
    reassociated,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.pairwise_coupling import Coupling, coupling_size
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import floats_attr, ints_attr, str_attr, strs_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar

_LEAST = float(np.float32(1e-7))
"""No class of a pair is less likely than this."""

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class _Machine:
    """What the attributes say."""

    labels: Array
    vectors: Array
    """`[features, supports]`: support vectors stand side by side, there are more of them than features."""
    coefficients: Array
    ends: Array
    """Where the support vectors of each class begin, and where those of the last one end."""
    by_pair: tuple[Array, Array, Array]
    """rho, A and B of each pair of classes."""
    kernel: str
    parameters: tuple[float, ...]
    """gamma, coef0 and degree."""


@lowering(onnx.SVMClassifierOp)
def lower_svm_classifier(
    op: onnx.SVMClassifierOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """Labels and `[rows, classes]`."""
    (x,) = inputs
    assert x is not None
    if rank_of(x) != 2 or buffer_element(x.type) != f32:
        raise Declined("SVMClassifier of anything but rows of f32 has no kernel")
    machine = _machine(op)
    (features, supports), classes = machine.vectors.shape, len(machine.labels)
    rows, given = builder.dims(x)
    message = f"the support vectors have {features} features, not as many as X"
    refuse_where(builder, given, "ne", builder.index(features), message)
    # First come the similarities, then the votes, then what the coupling needs.
    size = builder.index(supports + classes + coupling_size(classes))
    parts = (machine.vectors, machine.coefficients, machine.ends, *machine.by_pair, machine.labels)
    ins = [x, *map(builder.constant, parts)]
    labels_type, scores_type = (ranked(result.type, "a result") for result in op.results)
    k = KernelBody(
        "svm_classifier",
        [buffer_element(value.type) for value in ins],
        [buffer_element(labels_type), buffer_element(scores_type), f32],
        1,
    )
    _Row(k, machine).write()
    outs = [
        builder.empty(labels_type, [rows]),
        builder.empty(scores_type, [rows, builder.index(classes)]),
        builder.private(f32, size),
    ]
    return builder.launch(k, ins, outs, [rows])[:2]


@dataclass(frozen=True)
class _Row:
    """Writes the kernel, a task per row."""

    k: KernelBody
    machine: _Machine

    def write(self) -> None:
        k, s, classes = self.k, self.k.scalars, len(self.machine.labels)
        features, supports = self.machine.vectors.shape
        labels, scores, work = k.outs
        with k.tasks(k.sizes[0]) as row:
            begin = k.private(k.index(supports + classes + coupling_size(classes)))
            votes = k.add(begin, k.index(supports))
            coupling = Coupling(k, work, k.add(votes, k.index(classes)), classes, scores,
                                k.mul(row, k.index(classes)))  # fmt: skip
            self._similarities(k.mul(row, k.index(features)), begin)
            with k.loop(k.index(classes)) as i:
                k.store(s.const(0.0, f32), work, k.add(votes, i))
            self._pairs(begin, votes, coupling)
            k.store(k.load(k.ins[7], self._best(votes)), labels, row)
            coupling.solve()

    def _similarities(self, source: Scalar, begin: Scalar) -> None:
        k, s, work, is_rbf = self.k, self.k.scalars, self.k.outs[2], self.machine.kernel == "RBF"
        features, supports = (k.index(size) for size in self.machine.vectors.shape)
        with k.loop(supports, parallel=True) as v:
            k.store(s.const(0.0, f32), work, k.add(begin, v))
        with k.loop(features) as f:
            x = k.load(k.ins[0], k.add(source, f))
            with k.loop(supports, parallel=True) as v:
                vector = k.load(k.ins[1], k.at(f, supports, v))
                apart = s.sub(x, vector)
                term = s.mul(apart, apart) if is_rbf else s.mul(x, vector)
                k.store(s.add(k.load(work, k.add(begin, v)), term), work, k.add(begin, v))
        with k.loop(supports, parallel=True) as v:
            at = k.add(begin, v)
            k.store(self._similarity(k.load(work, at)), work, at)

    def _similarity(self, total: Scalar) -> Scalar:
        """Of a sum of products, or of squares of differences."""
        s, kernel = self.k.scalars, self.machine.kernel
        gamma, shift, degree = self.machine.parameters
        if kernel == "LINEAR":
            return total
        if kernel == "RBF":
            return s.unary(xmath.ExpOp, s.mul_const(total, -gamma))
        shifted = s.add_const(s.mul_const(total, gamma), shift)
        if kernel == "SIGMOID":
            return s.unary(xmath.TanhOp, shifted)
        return s.emit(xmath.PowFOp(shifted, s.const(float(int(degree)), f32)))

    def _pairs(self, begin: Scalar, votes: Scalar, coupling: Coupling) -> None:
        """Scores in f64: coefficients are large and cancel."""
        k, s, work = self.k, self.k.scalars, self.k.outs[2]
        classes, supports = k.index(len(self.machine.labels)), k.index(self.machine.vectors.shape[1])
        one = k.index(1)

        def part(of: Scalar, against: Scalar) -> Scalar:
            first, end = (k.to_index(k.load(k.ins[3], at)) for at in (of, k.add(of, one)))

            def step(v: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
                similar = s.float_to(k.load(work, k.add(begin, v)), f64)
                weight = s.float_to(k.load(k.ins[2], k.at(against, supports, v)), f64)
                return [reassociated(s.add(acc[0], reassociated(s.mul(similar, weight))))]

            return k.reduce(end, [s.const(0.0, f64)], step, start=first)[0]

        def pair(i: Scalar, j: Scalar, number: Scalar) -> Scalar:
            rho = s.float_to(k.load(k.ins[4], number), f64)
            total = s.add(part(i, k.sub(j, one)), part(j, i))
            score = s.float_to(s.add(total, rho), f32)
            won = s.cmp("gt", score, s.const(0.0, f32))
            at = k.add(votes, s.select(won, i, j))
            k.store(s.add_const(k.load(work, at), 1.0), work, at)
            coupling.set_pair(i, j, self._likely(score, number))
            return k.add(number, one)

        def against_later(i: Scalar, number: Scalar) -> Scalar:
            after = k.add(i, one)
            return k.reduce(classes, [number], lambda j, acc: [pair(i, j, acc[0])], start=after)[0]

        k.reduce(classes, [k.index(0)], lambda i, acc: [against_later(i, acc[0])])

    def _likely(self, score: Scalar, pair: Scalar) -> Scalar:
        """`1 / (1 + exp(score A + B))`, not quite 0 or 1."""
        k, s = self.k, self.k.scalars
        z = s.add(s.mul(score, k.load(k.ins[5], pair)), k.load(k.ins[6], pair))
        one = s.const(1.0, f32)
        v = s.divf(one, s.add(one, s.unary(xmath.ExpOp, s.neg(s.abs(z)))))
        logistic = s.select(s.cmp("lt", z, s.const(0.0, f32)), s.sub(one, v), v)
        likely = s.maximum(s.sub(one, logistic), s.const(_LEAST, f32))
        return s.minimum(likely, s.const(float(np.float32(1) - np.float32(_LEAST)), f32))

    def _best(self, votes: Scalar) -> Scalar:
        """The class with the most votes, the first of several."""
        k, s = self.k, self.k.scalars

        def step(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            count = k.load(k.outs[2], k.add(votes, i))
            more = s.cmp("gt", count, acc[1])
            return [s.select(more, i, acc[0]), s.select(more, count, acc[1])]

        init = [k.index(0), s.const(-1.0, f32)]
        return k.reduce(k.index(len(self.machine.labels)), init, step)[0]


def _machine(op: onnx.SVMClassifierOp) -> _Machine:
    """What the attributes say. Raises Declined where other ops compute it, or they do not fit."""
    if strs_attr(op, "classlabels_strings") or str_attr(op, "post_transform", "NONE") != "NONE":
        raise Declined("SVMClassifier with strings, or of scores that are transformed, has no kernel")
    by_pair = tuple(_floats(op, name) for name in ("rho", "prob_a", "prob_b"))
    if not by_pair[1].size:
        raise Declined("SVMClassifier without probabilities has no kernel")
    labels = np.array(ints_attr(op, "classlabels_ints") or (), np.int64)
    per_class = ints_attr(op, "vectors_per_class") or ()
    classes, supports = len(labels), sum(per_class)
    if classes < 2 or len(per_class) != classes or not supports:
        raise Declined("SVMClassifier without support vectors of each class has no kernel")
    if any(values.size != classes * (classes - 1) // 2 for values in by_pair):
        raise Declined("SVMClassifier without rho, A and B of each pair of classes has no kernel")
    coefficients, vectors = _floats(op, "coefficients"), _floats(op, "support_vectors")
    if coefficients.size != supports * (classes - 1) or vectors.size % supports or not vectors.size:
        raise Declined("SVMClassifier with coefficients that do not fit the support vectors has no kernel")
    kernel = str_attr(op, "kernel_type", "LINEAR")
    parameters = floats_attr(op, "kernel_params") or (0.0, 0.0, 0.0)
    if kernel not in ("LINEAR", "POLY", "RBF", "SIGMOID") or len(parameters) != 3:
        raise Declined(f"SVMClassifier with kernel {kernel} of {len(parameters)} parameters has no kernel")
    return _Machine(
        labels,
        np.ascontiguousarray(vectors.reshape(supports, -1).T),
        coefficients,
        np.cumsum([0, *per_class], dtype=np.int64),
        (by_pair[0], by_pair[1], by_pair[2]),
        kernel,
        parameters,
    )


def _floats(op: onnx.SVMClassifierOp, name: str) -> Array:
    return np.array(floats_attr(op, name) or (), np.float32)
