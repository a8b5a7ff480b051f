"""Every spelling of an activation, and the guards that only one of them has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from ir_graphs import graph, scalar
from rewritten import op_names
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, str_attr
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.testing import Rel
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.activation.gelu import GeluPattern
from onnxloom.transforms.patterns.activation.gelu_tanh import GeluTanhPattern
from onnxloom.transforms.patterns.activation.hard_sigmoid import HardSigmoidPattern
from onnxloom.transforms.patterns.activation.hard_swish import HardSwishPattern
from onnxloom.transforms.patterns.activation.leaky_relu import LeakyReluPattern
from onnxloom.transforms.patterns.activation.max_relu import MaxReluPattern
from onnxloom.transforms.patterns.activation.mish import MishPattern
from onnxloom.transforms.patterns.activation.swish import SwishPattern
from onnxloom.transforms.rewriting.driver import optimize
from onnxloom.transforms.rewriting.pattern import PatternOptimization

FEEDS = {"x": np.array([[-9.0, -3.0, -0.5, -0.0], [0.0, 0.7, 3.0, 9.0]], np.float32)}
NUMBERS = {
    "one": 1.0, "two": 2.0, "three": 3.0, "six": 6.0, "zero": 0.0, "half": 0.5, "sixth": 1 / 6,
    "root": 2**0.5, "unroot": 0.5**0.5, "cubic": 0.044715, "scale": (2 / np.pi) ** 0.5,
}  # fmt: skip


def text(lines: Sequence[str], numbers: dict[str, float] | None = None) -> str:
    """The lines with the constants they name."""
    known = {**NUMBERS, **(numbers or {})}
    used = [name for name in known if any(f"%{name}" in line.split() for line in lines)]
    return graph(*(scalar(f"%{name}", repr(float(known[name]))) for name in used), *lines)


def raised(pattern: type[PatternOptimization], lines: Sequence[str], tolerance: float = 1e-5) -> ModuleOp:
    done = check_pattern(text(lines), pattern, FEEDS, Rel(tolerance), times=1)
    assert len(op_names(done)) == 1
    return done


HALVES = {
    "halved_first": ["%a = Mul %x %half", "%y = Mul %a %g"],
    "halved_first_commuted": ["%a = Mul %half %x", "%y = Mul %g %a"],
    "divided_first": ["%a = Div %x %two", "%y = Mul %a %g"],
    "halved_last": ["%a = Mul %x %g", "%y = Mul %a %half"],
    "halved_last_commuted": ["%a = Mul %g %x", "%y = Mul %half %a"],
    "divided_last": ["%a = Mul %x %g", "%y = Div %a %two"],
    "halved_gate": ["%a = Mul %g %half", "%y = Mul %x %a"],
    "divided_gate": ["%a = Div %g %two", "%y = Mul %a %x"],
}
ERF = ["%s = Div %x %root", "%e = Erf %s", "%g = Add %e %one"]


@pytest.mark.parametrize("half", HALVES)
def test_gelu_with_the_half_at_any_place(half: str):
    done = raised(GeluPattern, [*ERF, *HALVES[half]])
    (gelu,) = [found for found in done.walk() if isinstance(found, onnx.GeluOp)]
    assert str_attr(gelu, "approximate") == "none"


@pytest.mark.parametrize("scaled", ["%s = Mul %x %unroot", "%s = Mul %unroot %x"])
def test_gelu_with_a_product_as_scale(scaled: str):
    raised(GeluPattern, [scaled, "%e = Erf %s", "%g = Add %one %e", *HALVES["halved_first"]])


def test_gelu_with_the_half_inside_the_sum():
    lines = ["%s = Div %x %root", "%e = Erf %s", "%h = Mul %e %half", "%g = Add %h %half", "%y = Mul %x %g"]
    raised(GeluPattern, lines)


def test_gelu_with_constants_rounded_to_f16():
    rounded = {name: float(np.float16(NUMBERS[name])) for name in ("root", "unroot", "cubic", "scale")}
    lines = [*ERF, *HALVES["halved_first"]]
    check_pattern(text(lines, rounded), GeluPattern, FEEDS, Rel(2e-3), times=1)
    tanh = [*CUBES["power"], *INNER["sum"], "%e = Tanh %i", "%g = Add %e %one", *HALVES["halved_first"]]
    check_pattern(text(tanh, rounded), GeluTanhPattern, FEEDS, Rel(2e-3), times=1)


CUBES = {
    "power": ["%q = Pow %x %three", "%c = Mul %q %cubic"],
    "products": ["%p = Mul %x %x", "%q = Mul %p %x", "%c = Mul %q %cubic"],
    "products_commuted": ["%p = Mul %x %x", "%q = Mul %x %p", "%c = Mul %cubic %q"],
    "scaled_first": ["%p = Mul %x %cubic", "%q = Mul %p %x", "%c = Mul %q %x"],
    "scaled_square": ["%p = Pow %x %two", "%q = Mul %cubic %p", "%c = Mul %x %q"],
}
INNER = {
    "sum": ["%d = Add %x %c", "%i = Mul %d %scale"],
    "commuted": ["%d = Add %c %x", "%i = Mul %scale %d"],
}
FACTORED = {
    "scaled_x": ["%u = Mul %x %scale", "%i = Mul %u %f"],
    "scaled_product": ["%u = Mul %x %f", "%i = Mul %u %scale"],
    "scaled_factor": ["%u = Mul %f %scale", "%i = Mul %x %u"],
}
SQUARES = {
    "power": ["%p = Pow %x %two", "%q = Mul %p %cubic", "%f = Add %q %one"],
    "products": ["%p = Mul %x %cubic", "%q = Mul %p %x", "%f = Add %one %q"],
    "square": ["%p = Mul %x %x", "%q = Mul %cubic %p", "%f = Add %one %q"],
}


@pytest.mark.parametrize("half", HALVES)
def test_gelu_tanh_with_the_half_at_any_place(half: str):
    lines = [*CUBES["power"], *INNER["sum"], "%e = Tanh %i", "%g = Add %e %one", *HALVES[half]]
    done = raised(GeluTanhPattern, lines)
    (gelu,) = [found for found in done.walk() if isinstance(found, onnx.GeluOp)]
    assert str_attr(gelu, "approximate") == "tanh"


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("cube", CUBES)
def test_gelu_tanh_with_any_cube(cube: str, inner: str):
    lines = [*CUBES[cube], *INNER[inner], "%e = Tanh %i", "%g = Add %one %e", *HALVES["halved_first"]]
    raised(GeluTanhPattern, lines, 1e-4)


@pytest.mark.parametrize("factored", FACTORED)
@pytest.mark.parametrize("square", SQUARES)
def test_gelu_tanh_with_x_in_front_of_the_polynomial(square: str, factored: str):
    lines = [
        *SQUARES[square],
        *FACTORED[factored],
        "%e = Tanh %i",
        "%g = Add %e %one",
        *HALVES["halved_last"],
    ]
    raised(GeluTanhPattern, lines, 1e-4)


@pytest.mark.parametrize(("pattern", "gate"), [(GeluPattern, "Tanh"), (GeluTanhPattern, "Erf")])
def test_the_two_forms_are_told_apart(pattern: type[PatternOptimization], gate: str):
    lines = [*CUBES["power"], *INNER["sum"], "%e = Tanh %i", "%g = Add %e %one", *HALVES["halved_first"]]
    chosen = lines if gate == "Tanh" else [*ERF, *HALVES["halved_first"]]
    assert "expected" in decline_reason(text(chosen), pattern)


def test_gelu_of_another_argument_is_none():
    lines = ["%z = Neg %x", "%s = Div %z %root", "%e = Erf %s", "%g = Add %e %one", *HALVES["halved_first"]]
    assert "x: found both" in decline_reason(text(lines), GeluPattern)


@pytest.mark.parametrize(
    "lines", [["%s = Sigmoid %x", "%y = Mul %s %x"], ["%s = Sigmoid %x", "%y = Mul %x %s"]]
)
def test_swish(lines: list[str]):
    (swish,) = [found for found in raised(SwishPattern, lines).walk() if isinstance(found, onnx.SwishOp)]
    assert float_attr(swish, "alpha") == 1.0


@pytest.mark.parametrize("scaled", ["%a = Mul %x %k", "%a = Mul %k %x"])
def test_swish_with_alpha(scaled: str):
    lines = [scalar("%k", "1.702"), scaled, "%s = Sigmoid %a", "%y = Mul %x %s"]
    done = check_pattern(graph(*lines), SwishPattern, FEEDS, times=1)
    (swish,) = [found for found in done.walk() if isinstance(found, onnx.SwishOp)]
    assert float_attr(swish, "alpha") == np.float32(1.702)


def test_two_swishes_keep_their_alphas():
    first = [scalar("%k", "1.5"), "%a = Mul %x %k", "%s = Sigmoid %a", "%m = Mul %x %s"]
    second = [scalar("%l", "2.5"), "%b = Mul %m %l", "%t = Sigmoid %b", "%y = Mul %m %t"]
    done = check_pattern(graph(*first, *second), SwishPattern, FEEDS, times=2)
    alphas = [float_attr(found, "alpha") for found in done.walk() if isinstance(found, onnx.SwishOp)]
    assert alphas == [1.5, 2.5]


@pytest.mark.parametrize(
    ("alpha", "element", "reason"),
    [
        ("0.1", "f64", "no f32 number"),
        ("0x7F800000", "f32", "no f32 number"),
        ("1.0e300", "f64", "no f32 number"),
    ],
)
def test_an_alpha_that_the_attribute_cannot_be(alpha: str, element: str, reason: str):
    shape = f"tensor<2x4x{element}>"
    lines = [
        scalar("%k", alpha, element),
        *(f"{line} : {shape}" for line in ("%a = Mul %x %k", "%s = Sigmoid %a", "%y = Mul %x %s")),
    ]
    assert reason in decline_reason(graph(*lines, inputs=[f"%x : {shape}"], results=shape), SwishPattern)


def test_swish_of_what_is_no_scalar():
    lines = [
        "%k = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>",
        "%a = Mul %x %k",
        "%s = Sigmoid %a",
        "%y = Mul %x %s",
    ]
    assert "alpha: expected a constant of one element" in decline_reason(graph(*lines), SwishPattern)


def test_mish_from_a_logarithm():
    lines = ["%a = Exp %x", "%b = Add %a %one", "%s = Log %b", "%t = Tanh %s", "%y = Mul %t %x"]
    raised(MishPattern, lines)
    large = {"x": np.full((2, 4), 200.0, np.float32)}
    check_pattern(text(lines), MishPattern, large, Rel(0.0))


SIXES = {
    "clip": ["%c = Clip %a %zero %six"],
    "min_relu": ["%r = Relu %a", "%c = Min %r %six"],
    "min_max": ["%r = Max %a %zero", "%c = Min %six %r"],
    "min_clip": ["%r = Clip %a %zero %none", "%c = Min %r %six"],
    "clip_relu": ["%r = Relu %a", "%c = Clip %r %none %six"],
    "clip_max": ["%r = Max %zero %a", "%c = Clip %r %none %six"],
}
ENDS = {
    "product_divided": ["%m = Mul %x %c", "%y = Div %m %six"],
    "product_scaled": ["%m = Mul %c %x", "%y = Mul %sixth %m"],
    "clip_divided": ["%m = Div %c %six", "%y = Mul %x %m"],
    "clip_scaled": ["%m = Mul %c %sixth", "%y = Mul %m %x"],
    "x_divided": ["%m = Div %x %six", "%y = Mul %m %c"],
    "x_scaled": ["%m = Mul %x %sixth", "%y = Mul %c %m"],
}


@pytest.mark.parametrize("six", SIXES)
def test_hard_sigmoid_with_any_clip(six: str):
    done = raised(HardSigmoidPattern, ["%a = Add %three %x", *SIXES[six], "%y = Div %c %six"])
    (made,) = [found for found in done.walk() if isinstance(found, onnx.HardSigmoidOp)]
    assert (float_attr(made, "alpha"), float_attr(made, "beta")) == (np.float32(1 / 6), 0.5)


def test_hard_sigmoid_with_a_product():
    raised(HardSigmoidPattern, ["%a = Add %x %three", *SIXES["clip"], "%y = Mul %sixth %c"])


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("six", SIXES)
def test_hard_swish_with_any_clip_and_division(six: str, end: str):
    raised(HardSwishPattern, ["%a = Add %x %three", *SIXES[six], *ENDS[end]])


@pytest.mark.parametrize(
    ("attributes", "fires"),
    [
        ("alpha = 0.16666667 : f32, beta = 0.5 : f32", True),
        ("alpha = 0.2 : f32", False),
        ("alpha = 0.16666667 : f32, beta = 0.6 : f32", False),
    ],
)
def test_hard_swish_from_hard_sigmoid(attributes: str, fires: bool):
    lines = [f"%s = HardSigmoid %x {{{attributes}}}", "%y = Mul %x %s"]
    assert (optimize(parse_module(graph(*lines)), [HardSwishPattern]) == 1) == fires


def test_the_two_steps_lead_to_one_op():
    lines = ["%a = Add %x %three", *SIXES["clip"], *ENDS["clip_divided"]]
    done = check_pattern(text(lines), [HardSigmoidPattern, HardSwishPattern], FEEDS, Rel(1e-5))
    assert op_names(done) == ["HardSwish"]


CHOICES = {
    "greater": ["%c = Greater %x %zero : tensor<2x4xi1>", "%m = Mul %x %k", "%y = Where %c %x %m"],
    "greater_or_equal": [
        "%c = GreaterOrEqual %x %zero : tensor<2x4xi1>",
        "%m = Mul %k %x",
        "%y = Where %c %x %m",
    ],
    "less": ["%c = Less %x %zero : tensor<2x4xi1>", "%m = Mul %x %k", "%y = Where %c %m %x"],
}
SPECIAL = {"x": np.array([[np.nan, np.inf, -np.inf, 1e-45], [-0.0, 0.0, -2.5, 3e38]], np.float32)}


@pytest.mark.parametrize("choice", CHOICES)
def test_leaky_relu(choice: str):
    done = check_pattern(text(CHOICES[choice], {"k": 0.1}), LeakyReluPattern, SPECIAL, times=1)
    (made,) = [found for found in done.walk() if isinstance(found, onnx.LeakyReluOp)]
    assert float_attr(made, "alpha") == np.float32(0.1)


@pytest.mark.parametrize("slope", [0.0, 1.5])
def test_leaky_relu_with_other_slopes(slope: float):
    check_pattern(text(CHOICES["greater"], {"k": slope}), LeakyReluPattern, SPECIAL, times=1)


def test_two_slopes_in_one_model():
    second = [
        line.replace("%x", "%y").replace("%c", "%d").replace("%m", "%n").replace("%k", "%l")
        for line in CHOICES["greater"]
    ]
    second[-1] = second[-1].replace("%y =", "%z =", 1)
    lines = [*CHOICES["greater"], *second]
    module = text(lines, {"k": 0.1, "l": 0.3}).replace("onnx.Return %y", "onnx.Return %z")
    done = check_pattern(module, LeakyReluPattern, FEEDS, times=2)
    slopes = [float_attr(found, "alpha") for found in done.walk() if isinstance(found, onnx.LeakyReluOp)]
    assert slopes == [np.float32(0.1), np.float32(0.3)]


@pytest.mark.parametrize(
    ("slope", "element", "reason"),
    [
        ("-0.1", "f32", "turns the sign of zero"),
        ("-0.0", "f32", "turns the sign of zero"),
        ("0.1", "f64", "no f32 number"),
        ("0x7F800000", "f32", "no f32 number"),
        ("0x7FC00000", "f32", "no f32 number"),
    ],
)
def test_slopes_that_leaky_relu_cannot_have(slope: str, element: str, reason: str):
    shape = f"tensor<2x4x{element}>"
    condition = shape.replace(element, "i1")
    lines = [
        scalar("%k", slope, element),
        scalar("%zero", "0.0", element),
        f"%c = Greater %x %zero : {condition}",
        f"%m = Mul %x %k : {shape}",
        f"%y = Where %c %x %m : {shape}",
    ]
    assert reason in decline_reason(graph(*lines, inputs=[f"%x : {shape}"], results=shape), LeakyReluPattern)


@pytest.mark.parametrize(
    "lines",
    [
        ["%c = Greater %x %one : tensor<2x4xi1>", "%m = Mul %x %k", "%y = Where %c %x %m"],
        ["%c = Greater %zero %x : tensor<2x4xi1>", "%m = Mul %x %k", "%y = Where %c %x %m"],
        ["%c = Greater %x %zero : tensor<2x4xi1>", "%m = Mul %x %k", "%y = Where %c %m %x"],
        ["%c = Less %x %zero : tensor<2x4xi1>", "%m = Mul %x %k", "%y = Where %c %x %m"],
        ["%n = Neg %x", "%c = Greater %n %zero : tensor<2x4xi1>", "%m = Mul %x %k", "%y = Where %c %x %m"],
    ],
)
def test_choices_that_are_no_leaky_relu(lines: list[str]):
    decline_reason(text(lines, {"k": 0.1}), LeakyReluPattern)


def test_leaky_relu_with_a_slope_per_channel():
    lines = ["%k = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>", *CHOICES["greater"]]
    reason = decline_reason(graph(scalar("%zero", "0.0"), *lines), LeakyReluPattern)
    assert "k: expected a constant of one element" in reason


@pytest.mark.parametrize("line", ["%y = Max %x %zero", "%y = Max %zero %x"])
@pytest.mark.parametrize("element", ["f32", "f64", "f16"])
def test_max_with_zero_is_relu(line: str, element: str):
    shape = f"tensor<2x4x{element}>"
    lines = [scalar("%zero", "0.0", element), f"{line} : {shape}"]
    done = check_pattern(graph(*lines, inputs=[f"%x : {shape}"], results=shape), MaxReluPattern, times=1)
    assert op_names(done) == ["Relu"]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([scalar("%k", "-0.0"), "%y = Max %x %k"], "another one"),
        ([scalar("%k", "0.0"), "%y = Max %x %k %x"], "has an operand more"),
        ([scalar("%k", "1e-30"), "%y = Max %x %k"], "another one"),
        (["%k = dense<0.0> : tensor<4xf32>", "%y = Max %x %k"], "expected a constant of one element"),
        (["%y = Max %x"], "has 1 operands; expected 2"),
    ],
)
def test_other_maxima_are_not_relu(lines: list[str], reason: str):
    assert reason in decline_reason(graph(*lines), MaxReluPattern)


def test_relu_does_not_take_unsigned_integers():
    shape = "tensor<2x4xui8>"
    lines = [scalar("%k", "0", "ui8"), f"%y = Max %x %k : {shape}"]
    reason = decline_reason(graph(*lines, inputs=[f"%x : {shape}"], results=shape), MaxReluPattern)
    assert "onnx.Relu does not take ui8" in reason


def test_relu_of_integers_is_left_alone():
    shape = "tensor<2x4xi32>"
    lines = graph(
        scalar("%k", "0", "i32"), f"%y = Max %x %k : {shape}", inputs=[f"%x : {shape}"], results=shape
    )
    assert "Relu of integers" in decline_reason(lines, MaxReluPattern)


INTEGERS = [
    (SwishPattern, ["%s = Neg %x", "%y = Mul %x %s"]),
    (HardSigmoidPattern, ["%a = Add %x %three", "%c = Clip %a %zero %six", "%y = Div %c %six"]),
    (
        HardSwishPattern,
        ["%a = Add %x %three", "%c = Clip %a %zero %six", "%m = Mul %x %c", "%y = Div %m %six"],
    ),
    (
        LeakyReluPattern,
        ["%g = Greater %x %zero : tensor<2x4xi1>", "%m = Mul %x %three", "%y = Where %g %x %m"],
    ),
]


@pytest.mark.parametrize(("pattern", "lines"), INTEGERS)
def test_integers_are_left_alone(pattern: type[PatternOptimization], lines: list[str]):
    shape = "tensor<2x4xi32>"
    typed = [line if " : " in line else f"{line} : {shape}" for line in lines]
    numbers = [scalar(f"%{name}", str(int(NUMBERS[name])), "i32") for name in ("three", "zero", "six")]
    reason = decline_reason(graph(*numbers, *typed, inputs=[f"%x : {shape}"], results=shape), pattern)
    assert "does not take i32" in reason or pattern is SwishPattern
