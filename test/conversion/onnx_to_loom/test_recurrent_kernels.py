"""Do LSTM, GRU and RNN compute what ONNX Runtime does, with every attribute, without a host step?"""

from __future__ import annotations

import numpy as np
import pytest
from numerics import Array, assert_close, compiled
from recurrent_cases import (
    Case,
    build,
    check_against_host_steps,
    check_against_onnxruntime,
    without_host_steps,
)

from onnxloom.errors import InputError, OnnxloomError

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
