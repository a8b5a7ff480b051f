"""What holds for every pattern that makes an activation: where it fires, where it declines, what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from ir_graphs import graph
from rewritten import op_names

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.testing import Rel, Tolerance
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.activation.gelu import GeluPattern
from onnxloom.transforms.patterns.activation.gelu_tanh import GeluTanhPattern
from onnxloom.transforms.patterns.activation.hard_sigmoid import HardSigmoidPattern
from onnxloom.transforms.patterns.activation.hard_swish import HardSwishPattern
from onnxloom.transforms.patterns.activation.leaky_relu import LeakyReluPattern
from onnxloom.transforms.patterns.activation.max_relu import MaxReluPattern
from onnxloom.transforms.patterns.activation.mish import MishPattern
from onnxloom.transforms.patterns.activation.swish import SwishPattern
from onnxloom.transforms.rewriting.driver import RewriteOptions, optimize
from onnxloom.transforms.rewriting.pattern import Numerics, PatternOptimization
from onnxloom.transforms.rewriting.registry import own_patterns

SHAPE = "tensor<2x4xf32>"


@dataclass(frozen=True)
class Activation:
    """One spelling of an activation."""

    pattern: type[PatternOptimization]
    lines: tuple[str, ...]
    """The last one makes %y; all values have the type of %x, or i1 where a line says so."""

    constants: dict[str, str]
    makes: str
    min_opset: int
    of_rank_one: str = ""
    """A constant that is a list of one number."""

    def text(
        self, shape: str = SHAPE, extra: Sequence[str] = (), returns: str = "%y", results: str = ""
    ) -> str:
        element = shape.removesuffix(">").rpartition("x")[2].removeprefix("tensor<")
        declared = [
            f"{name} = dense<{value}> : tensor<{'1x' if name == self.of_rank_one else ''}{element}>"
            for name, value in self.constants.items()
        ]
        lines = [_typed(line, shape, element) for line in (*self.lines, *extra)]
        inputs = [f"%x : {shape}"]
        return graph(*declared, *lines, inputs=inputs, returns=returns, results=results or shape)

    @property
    def inner(self) -> list[str]:
        """The values in between that have the type of %x."""
        return [line.split()[0] for line in self.lines[:-1] if " : bool" not in line]


def _typed(line: str, shape: str, element: str) -> str:
    if line.endswith(" : bool"):
        return line.removesuffix("bool") + shape.replace(f"{element}>", "i1>")
    return f"{line} : {shape}"


ERF = {"%r": "1.4142135", "%o": "1.0", "%h": "0.5"}
SIX = {"%three": "3.0", "%zero": "0.0", "%six": "6.0"}
ACTIVATIONS = {
    "gelu": Activation(
        GeluPattern,
        ("%s = Div %x %r", "%e = Erf %s", "%p = Add %e %o", "%g = Mul %x %p", "%y = Mul %g %h"),
        ERF, "Gelu", 20,
    ),
    "gelu_tanh": Activation(
        GeluTanhPattern,
        ("%q = Pow %x %t", "%c = Mul %q %k", "%a = Add %x %c", "%s = Mul %a %w", "%e = Tanh %s",
         "%p = Add %e %o", "%b = Mul %x %h", "%y = Mul %b %p"),
        {"%t": "3.0", "%k": "0.044715", "%w": "0.7978846", "%o": "1.0", "%h": "0.5"}, "Gelu", 20,
    ),
    "swish": Activation(SwishPattern, ("%s = Sigmoid %x", "%y = Mul %x %s"), {}, "Swish", 24),
    "quick_gelu": Activation(
        SwishPattern, ("%a = Mul %x %k", "%s = Sigmoid %a", "%y = Mul %x %s"), {"%k": "1.5"}, "Swish", 24
    ),
    "mish": Activation(MishPattern, ("%s = Softplus %x", "%t = Tanh %s", "%y = Mul %x %t"), {}, "Mish", 18),
    "hard_sigmoid": Activation(
        HardSigmoidPattern,
        ("%a = Add %x %three", "%c = Clip %a %zero %six", "%y = Div %c %six"), SIX, "HardSigmoid", 1,
    ),
    "hard_swish": Activation(
        HardSwishPattern,
        ("%a = Add %x %three", "%c = Clip %a %zero %six", "%m = Mul %x %c", "%y = Div %m %six"),
        SIX, "HardSwish", 14,
    ),
    "leaky_relu": Activation(
        LeakyReluPattern,
        ("%g = Greater %x %zero : bool", "%m = Mul %x %k", "%y = Where %g %x %m"),
        {"%zero": "0.0", "%k": "0.25"}, "LeakyRelu", 6,
    ),
    "max_relu": Activation(MaxReluPattern, ("%y = Max %x %zero",), {"%zero": "0.0"}, "Relu", 1),
}  # fmt: skip
NAMES = list(ACTIVATIONS)
FEEDS = {"x": np.array([[-40.0, -3.0, -0.5, -0.0], [0.0, 0.7, 3.0, 40.0]], np.float32)}


def tolerance_of(activation: Activation) -> Tolerance | None:
    return None if activation.pattern is LeakyReluPattern else Rel(1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_become_the_op(name: str):
    activation = ACTIVATIONS[name]
    done = check_pattern(activation.text(), activation.pattern, FEEDS, tolerance_of(activation), times=1)
    assert op_names(done) == [activation.makes]


@pytest.mark.parametrize("name", NAMES)
def test_the_compiled_op_computes_what_the_parts_do(name: str):
    activation = ACTIVATIONS[name]
    compiled = [
        compile_model(parse_module(activation.text()), CompileOptions(cache=False, opt_level=level))
        for level in (0, 3)
    ]
    apart, whole = (model(FEEDS["x"])[0] for model in compiled)
    np.testing.assert_allclose(whole, apart, rtol=1e-4, atol=1e-6)


def test_the_exact_one_keeps_every_bit_of_special_values():
    special = [[np.nan, np.inf, -np.inf, 1e-45], [-0.0, 0.0, -1e-45, 3e38]]
    activation = ACTIVATIONS["leaky_relu"]
    assert activation.pattern.numerics is Numerics.EXACT
    check_pattern(activation.text(), activation.pattern, {"x": np.array(special, np.float32)})


@pytest.mark.parametrize(
    "shape", ["tensor<?x4xf32>", "tensor<f32>", "tensor<4xf32>", "tensor<*xf32>", "tensor<0x3xf32>"]
)
@pytest.mark.parametrize("name", NAMES)
def test_any_shape_will_do(name: str, shape: str):
    activation = ACTIVATIONS[name]
    module = parse_module(activation.text(shape))
    assert optimize(module, [activation.pattern], RewriteOptions(check_index=True)) == 1
    assert op_names(module) == [activation.makes]


@pytest.mark.parametrize("element", ["f16", "bf16", "f64"])
@pytest.mark.parametrize("name", NAMES)
def test_any_float_type_will_do(name: str, element: str):
    """The constants are those of the type, as rounded as it makes them."""
    activation = ACTIVATIONS[name]
    if element == "f64":
        exact = {"1.4142135": repr(2**0.5), "0.7978846": repr((2 / np.pi) ** 0.5)}
        known = {key: exact.get(value, value) for key, value in activation.constants.items()}
        activation = replace(activation, constants=known)
    if element == "f64" and name.startswith("hard_"):
        text = activation.text(SHAPE.replace("f32", element))
        assert "loses digits of f64" in decline_reason(text, activation.pattern)
        return
    done = check_pattern(
        activation.text(SHAPE.replace("f32", element)), activation.pattern, tolerance=Rel(5e-2), times=1
    )
    assert op_names(done) == [activation.makes]


@pytest.mark.parametrize(("name", "value"), [(n, v) for n in NAMES for v in ACTIVATIONS[n].inner])
def test_a_value_in_between_that_something_else_reads_is_kept(name: str, value: str):
    activation = ACTIVATIONS[name]
    other = activation.text(extra=(f"%z = Sin {value}", "%v = Add %z %y"), returns="%v")
    assert "onnx.Sin" in decline_reason(other, activation.pattern)
    output = activation.text(returns=f"%y {value}", results=f"{SHAPE}, {SHAPE}")
    assert "it is an output of the graph" in decline_reason(output, activation.pattern)


@pytest.mark.parametrize(("name", "constant"), [(n, c) for n in NAMES for c in ACTIVATIONS[n].constants])
def test_another_constant_is_another_function(name: str, constant: str):
    activation = ACTIVATIONS[name]
    if constant == "%k" and activation.pattern in (SwishPattern, LeakyReluPattern):
        pytest.skip("any number will do")
    wrong = {**activation.constants, constant: str(float(activation.constants[constant]) * 1.01 + 1e-3)}
    assert "another one" in decline_reason(replace(activation, constants=wrong).text(), activation.pattern)


@pytest.mark.parametrize(("name", "constant"), [(n, c) for n in NAMES for c in ACTIVATIONS[n].constants])
def test_a_constant_that_raises_the_rank_is_no_scalar(name: str, constant: str):
    activation = ACTIVATIONS[name]
    if constant in ("%zero", "%six") and "%three" in activation.constants:
        pytest.skip("the bounds of Clip are scalars")
    raised = replace(activation, of_rank_one=constant)
    assert "may raise the rank" in decline_reason(raised.text("tensor<*xf32>"), activation.pattern)


@pytest.mark.parametrize("name", NAMES)
def test_an_older_opset_has_no_such_op(name: str):
    activation = ACTIVATIONS[name]
    assert activation.pattern.min_opset == activation.min_opset
    if activation.min_opset > 1:
        module = parse_module(activation.text())
        assert optimize(module, [activation.pattern], RewriteOptions(opset=activation.min_opset - 1)) == 0
        assert optimize(module, [activation.pattern], RewriteOptions(opset=activation.min_opset)) == 1


def test_all_are_on_by_default():
    names = {pattern.name for pattern in own_patterns().select()}
    assert {a.pattern.name for a in ACTIVATIONS.values()} <= names
