"""Do LSTM, GRU and RNN compute what ONNX Runtime does, with every attribute, without a host step?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime
import pytest
from numerics import Array, assert_close, compiled, graph_model

from onnxloom.errors import InputError, OnnxloomError
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


REVERSE, BOTH = {"direction": "reverse"}, {"direction": "bidirectional"}


def test_directions_lengths_and_initial_states() -> None:
    check_against_onnxruntime(
        [
            Case("LSTM", given=""),
            Case("LSTM", batch=1, time=1, hidden=70, given="BHC", attrs=REVERSE),
            Case("LSTM", given="BLHC", attrs=BOTH, lengths=(4, 2, 1)),
            Case("LSTM", given="BHCP", attrs=BOTH, batch=9, hidden=33),
            Case("GRU", given=""),
            Case("GRU", given="BLH", attrs=BOTH, lengths=(1, 4, 3)),
            Case("GRU", given="BH", attrs={**REVERSE, "linear_before_reset": 1}, batch=1, hidden=40),
            Case("RNN", given=""),
            Case("RNN", given="BLH", attrs=BOTH, lengths=(3, 1, 4), hidden=17),
            Case("LSTM", given="BLHC", attrs=BOTH, lengths=(0, 4, 2)),
            Case("GRU", given="BLH", attrs=REVERSE, lengths=(3, 0, 0)),
            Case("RNN", given="LH", lengths=(0, 0, 0)),
        ]
    )


def test_gate_attributes() -> None:
    odd = ["HardSigmoid", "Softsign", "Affine"]
    check_against_onnxruntime(
        [
            Case("LSTM", given="BHC", attrs={"input_forget": 1}),
            Case("LSTM", given="BHCP", attrs={"clip": 0.3}),
            Case("LSTM", attrs={"activations": odd, "activation_alpha": [0.3, 0.7],
                                "activation_beta": [0.4, 0.1]}),
            Case("GRU", given="BH", attrs={"clip": 0.3}),
            Case("GRU", given="BH", attrs={"clip": 0.3, "linear_before_reset": 1}),
            Case("GRU", attrs={"activations": ["Sigmoid", "Softplus", "HardSigmoid", "Relu"], **BOTH}),
            Case("RNN", attrs={"clip": 0.3}),
            Case("RNN", attrs={"activations": ["LeakyRelu", "Elu"], "activation_alpha": [0.2, 0.5], **BOTH}),
            Case("RNN", attrs={"activations": ["ThresholdedRelu", "ScaledTanh"],
                               "activation_alpha": [0.2, 0.5], "activation_beta": [0.9], **BOTH}),
        ]
    )  # fmt: skip


def test_computed_weights_and_omitted_outputs() -> None:
    check_against_onnxruntime(
        [
            Case("LSTM", given="BHCP", constant_weights=False, hidden=50, attrs=BOTH),
            Case("GRU", given="BH", constant_weights=False),
            Case("LSTM", outputs="H"),
            Case("LSTM", outputs="C"),
            Case("GRU", outputs="Y", given="BL", lengths=(1, 2, 4)),
        ]
    )


def test_batch_first_and_double_precision() -> None:
    first = {"layout": 1}
    check_against_host_steps(
        [
            Case("LSTM", given="BLHC", attrs={**first, **BOTH}, lengths=(4, 2, 1)),
            Case("GRU", given="BH", attrs={**first, **REVERSE}),
            Case("RNN", given="BH", attrs={**first, **BOTH}),
            Case("LSTM", given="BHC", dtype="float64", hidden=11),
            Case("LSTM", given="BHCP", attrs={"clip": 0.3}),
            Case("GRU", given="BH", dtype="float64"),
        ]
    )


def test_half_precision_rounds_the_results_once() -> None:
    cases = [
        Case("LSTM", given="BHC", attrs=BOTH, dtype="float16"),
        Case("GRU", given="B", constant_weights=False, dtype="float16"),
    ]
    model, feeds, held = build(cases)
    got = without_host_steps(model, feeds)
    want: list[Array] = []
    for case, inputs in zip(cases, held, strict=True):
        want += [
            y.astype(np.float16) for y in case.on_host({n: a.astype(np.float64) for n, a in inputs.items()})
        ]
    assert_close(got, want)


@pytest.mark.parametrize(
    ("count", "operand", "axis"), [(1, "H", 1), (7, "H", 1), (7, "C", 1), (2, "L", 0), (4, "L", 0)]
)
def test_operands_for_another_batch_are_refused(count: int, operand: str, axis: int) -> None:
    model, feeds, _ = build([Case("LSTM", given="BLHC", lengths=(1, 1, 1))])
    feeds[f"n0{operand}"] = np.resize(feeds[f"n0{operand}"], (count,) if operand == "L" else (1, count, 5))
    name = {"H": "initial_h", "C": "initial_c", "L": "sequence_lens"}[operand]
    with pytest.raises(InputError, match=f"^LSTM.*: dim {axis} of {name} does not fit X, W and hidden_size$"):
        compiled(model).run(feeds)


@pytest.mark.parametrize(("operand", "axis"), [("W", 0), ("W", 1), ("W", 2), ("R", 1), ("B", 1), ("P", 1)])
def test_weights_of_another_size_are_refused(operand: str, axis: int) -> None:
    model, feeds, _ = build([Case("LSTM", given="BP", constant_weights=False)])
    array = feeds[f"n0{operand}"]
    feeds[f"n0{operand}"] = np.concatenate([array, array], axis)
    with pytest.raises(OnnxloomError, match=f"LSTM.*(dim {axis} of {operand} does not fit|expected)"):
        compiled(model).run(feeds)


def test_one_model_runs_any_batch_and_time() -> None:
    cases = [Case("LSTM", given="BHC", attrs=BOTH, hidden=12), Case("GRU", given="BH", hidden=12)]
    model, _, _ = build(cases)
    ours = compiled(model)
    for time, batch in ((1, 1), (5, 1), (2, 3), (3, 10), (0, 2), (2, 0)):
        sized = [Case(c.op, time, batch, given=c.given, attrs=c.attrs, hidden=12) for c in cases]
        _, feeds, held = build(sized)
        got = list(ours.run(feeds).values())
        want = [y for case, inputs in zip(sized, held, strict=True) for y in case.on_host(inputs)]
        assert_close(got, want, rtol=2e-5, atol=2e-6)
    assert not ours.host_counts


@pytest.mark.parametrize("wrong", [5, 9, -1])
@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_lengths_beyond_the_time_axis_are_refused(op: str, wrong: int) -> None:
    case = Case(op, given="BLH", lengths=(4, 0, 0))
    model, feeds, held = build([case])
    assert_close(without_host_steps(model, feeds), case.on_host(held[0]), rtol=2e-5)
    model, feeds, _ = build([Case(op, given="BLH", lengths=(4, wrong, 0))])
    with pytest.raises(InputError, match=f"^{op}.*: a sequence length of {wrong} is out of range.* 0 to 4$"):
        without_host_steps(model, feeds)


def test_unknown_activation_is_a_host_step_with_a_reason() -> None:
    model, feeds, _ = build([Case("RNN", attrs={"activations": ["Cosine"]})])
    ours = compiled(model)
    with pytest.raises(Exception, match="Cosine"):
        ours.run(feeds)
