"""Recurrent nodes with chosen attributes, and comparisons of what they give with onnxruntime and host ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime
from numerics import Array, assert_close, compiled, graph_model

from onnxloom.lowering.runtime.host_ops.registry import Attributes
from onnxloom.lowering.runtime.host_ops.replacements import recurrent

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
HOST = {"LSTM": recurrent.lstm, "GRU": recurrent.gru, "RNN": recurrent.rnn}


@dataclass(frozen=True)
class Case:
    """One recurrent node; `given` names its optional inputs."""

    op: str
    time: int = 4
    batch: int = 3
    features: int = 3
    hidden: int = 5
    given: str = "B"
    """Of B (bias), L (sequence_lens), H, C (initial states), P (peepholes)."""
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    lengths: Sequence[int] = ()
    constant_weights: bool = True
    outputs: str = "YHC"
    dtype: str = "float32"

    def directions(self) -> int:
        return 2 if self.attrs.get("direction") == "bidirectional" else 1

    def inputs(self, seed: int) -> dict[str, Array]:
        """The op's inputs by name."""
        rng = np.random.default_rng(seed)

        def normal(*shape: int) -> Array:
            return (0.6 * rng.normal(size=shape)).astype(self.dtype)

        d, h, gates = self.directions(), self.hidden, GATES[self.op]
        first, second = (self.batch, self.time) if self.attrs.get("layout") else (self.time, self.batch)
        state = (self.batch, d, h) if self.attrs.get("layout") else (d, self.batch, h)
        # The weights come first: they do not depend on time and batch.
        made = {
            "W": normal(d, gates * h, self.features),
            "R": normal(d, gates * h, h),
            "B": normal(d, 2 * gates * h),
            "P": normal(d, 3 * h),
            "X": normal(first, second, self.features),
            "L": np.array(self.lengths, np.int32),
            "H": normal(*state),
            "C": normal(*state),
        }
        return {name: a for name, a in made.items() if name in "XWR" + self.given}

    def names(self) -> str:
        return "YHC" if self.op == "LSTM" else "YH"

    def node(self, prefix: str) -> onnx.NodeProto:
        slots = "XWRBLHCP" if self.op == "LSTM" else "XWRBLH"
        ins = [f"{prefix}{n}" if n in "XWR" + self.given else "" for n in slots]
        outs = [f"{prefix}_{n}" if n in self.outputs else "" for n in self.names()]
        return oh.make_node(self.op, ins, outs, hidden_size=self.hidden, **self.attrs)

    def on_host(self, inputs: Mapping[str, Array]) -> list[Array]:
        slots = "XWRBLHCP" if self.op == "LSTM" else "XWRBLH"
        results = HOST[self.op](Attributes.of(self.node("")), *[inputs.get(n) for n in slots])
        return [r for r, n in zip(results, self.names(), strict=True) if n in self.outputs]


def build(cases: Sequence[Case]) -> tuple[onnx.ModelProto, dict[str, Array], list[dict[str, Array]]]:
    """A model with a node per case; its inputs; and the inputs per case."""
    feeds: dict[str, Array] = {}
    constants: dict[str, Array] = {}
    outputs: dict[str, Array] = {}
    held: list[dict[str, Array]] = []
    for i, case in enumerate(cases):
        inputs = case.inputs(i)
        held.append(inputs)
        for name, array in inputs.items():
            fixed = case.constant_weights and name in "WRBP"
            (constants if fixed else feeds)[f"n{i}{name}"] = array
        for name in case.names():
            if name in case.outputs:
                outputs[f"n{i}_{name}"] = np.zeros((1,) * (4 if name == "Y" else 3), case.dtype)
    nodes = [case.node(f"n{i}") for i, case in enumerate(cases)]
    return graph_model(nodes, feeds, outputs, constants=constants), feeds, held


def without_host_steps(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    ours = compiled(model)
    results = list(ours.run(feeds).values())
    assert not ours.host_counts, ours.host_counts
    return results


def check_against_onnxruntime(cases: Sequence[Case]) -> None:
    model, feeds, _ = build(cases)
    got = without_host_steps(model, feeds)
    model.opset_import[0].version = 22
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    want: list[Any] = list(session.run(None, dict(feeds)))
    names = [o.name for o in model.graph.output]
    for name, a, b in zip(names, got, want, strict=True):
        try:
            assert_close([a], [b], rtol=2e-5, atol=2e-6)
        except AssertionError as error:
            raise AssertionError(f"{name}: {cases[int(name[1:].split('_')[0])]}: {error}") from error


def check_against_host_steps(cases: Sequence[Case]) -> None:
    model, feeds, held = build(cases)
    got = without_host_steps(model, feeds)
    want = [y for case, inputs in zip(cases, held, strict=True) for y in case.on_host(inputs)]
    assert_close(got, want, rtol=2e-5, atol=2e-6)
