"""IR text that somebody spoilt: a typed error in one line, or the results that the text stands for.

Seeded mutations of fused modules are compiled and run, and compared with onnxruntime on the exported
model. Mutated loom text is verified and printed as code only: kernels are code, and running code that
somebody wrote does what it says.
"""

from __future__ import annotations

import random
import re
import signal
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from io import StringIO
from typing import Any, Final

import numpy as np
import onnxruntime
import pytest
from onnx.parser import parse_model
from xdsl.dialects.builtin import ModuleOp

import onnxloom
from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_import import import_model
from onnxloom.conversion.onnx_to_loom.convert import ConvertOnnxToLoomPass
from onnxloom.dialects.onnx.text import make_context, parse_module, print_module
from onnxloom.dialects.verify_module import verify_module
from onnxloom.errors import ModelError, OnnxloomError, PassError
from onnxloom.lowering.targets import LLVMTarget, NumbaTarget
from onnxloom.transforms.fusion.create import FuseOpsPass
from onnxloom.transforms.shape_inference import ShapeInferencePass

MODELS: Final = {
    "elementwise": (
        "(float[n, 4] x, float[4] b) => (float[n, 4] y) { a = Add(x, b) c = Relu(a) y = Mul(c, x) }"
    ),
    "matmul": (
        "(float[n, 4] x, float[4] b) => (float[n, 4] y)"
        " <float[4, 4] w = {1,2,3,4, 5,6,7,8, 0,1,0,1, 2,2,2,2}>"
        " { a = MatMul(x, w) c = Add(a, b) y = Relu(c) }"
    ),
    "conv": (
        "(float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) <float[1, 1, 2, 2] w = {1, 2, 3, 4}>"
        " { a = Conv(x, w) y = Relu(a) }"
    ),
}
SECONDS_PER_CASE: Final = 10
VALUE: Final = re.compile(r"%\d+\b")
NUMBER: Final = re.compile(r"(?<![%\w.])\d+\b")
STRING: Final = re.compile(r'"[^"\n]*"')
WORDS: Final = (
    '"onnx.Relu"', '"onnx.Add"', '"onnx.Yield"', '"onnx.FusedOp"', '"onnx.MatMul"', '"onnx.Return"',
    '"onnx.elementwise"', '"onnx.matmul_epilogue"', '"loom.end"', '"loom.launch"', '"read"',
    '"a\\0Ab"', '"\\ff"', '""', '"x"',
)  # fmt: skip
NUMBERS: Final = ("0", "1", "2", "3", "5", "-1", "128", "4294967296", "99999999999999999999", "?")


def module_of(name: str) -> ModuleOp:
    module = import_model(parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {name} {MODELS[name]}'))
    for step in (ShapeInferencePass(), FuseOpsPass()):
        step.apply(make_context(), module)
    return module


def printed(module: ModuleOp) -> str:
    stream = StringIO()
    print_module(module, stream)
    return stream.getvalue()


@cache
def fused_text(name: str) -> str:
    text = printed(module_of(name))
    assert "onnx.FusedOp" in text
    return text


@cache
def loom_text(name: str) -> str:
    module = module_of(name)
    ConvertOnnxToLoomPass().apply(make_context(), module)
    text = printed(module)
    assert "loom.kernel" in text
    return text


# Mutations


def _replace(pattern: re.Pattern[str], choices: Callable[[str], list[str]]) -> Callable[[str, Any], str]:
    def mutate(text: str, rng: random.Random) -> str:
        found = list(pattern.finditer(text))
        if not found:
            return text
        place = rng.choice(found)
        return text[: place.start()] + rng.choice(choices(text)) + text[place.end() :]

    return mutate


def _lines(text: str, rng: random.Random) -> str:
    """A line is left out, doubled, or moved."""
    lines = text.splitlines(keepends=True)
    taken = rng.randrange(len(lines))
    line = lines[taken]
    action = rng.randrange(3)
    if action != 1:
        del lines[taken]
    if action:
        lines.insert(rng.randrange(len(lines) + 1), line)
    return "".join(lines)


def _characters(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text))
    return text[:at] + rng.choice('%"(){}<>:,=0x²\n\\') + text[at + rng.randrange(2) :]


MUTATIONS: Final[tuple[Callable[[str, Any], str], ...]] = (
    _replace(VALUE, lambda text: VALUE.findall(text)),
    _replace(VALUE, lambda text: VALUE.findall(text)),
    _replace(NUMBER, lambda text: list(NUMBERS)),
    _replace(STRING, lambda text: [*STRING.findall(text), *WORDS]),
    _lines,
    _characters,
)


def mutated(text: str, seed: int) -> str:
    rng = random.Random(seed)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(MUTATIONS)(text, rng)
    return text


# Outcomes


@contextmanager
def time_limit() -> Generator[None]:
    def stop(*_args: object) -> None:
        raise AssertionError(f"takes more than {SECONDS_PER_CASE} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_CASE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(text: str, check: Callable[[str], None]) -> str:
    """Name of the typed error, or "ok". Any other exception goes on, with the text."""
    try:
        with time_limit(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(text)
    except OnnxloomError as error:
        assert "\n" not in str(error)
        assert 0 < len(str(error)) < 2000
        return type(error).__name__
    except BaseException as error:
        error.add_note(f"of this text:\n{text}")
        raise
    return "ok"


def run_and_compare(text: str) -> None:
    module = parse_module(text)
    verify_module(module)
    model = onnxloom.compile(module)
    rng = np.random.default_rng(0)
    feeds: dict[str, Any] = {}
    for info in model.inputs:
        if info.type != "tensor(float)":
            return
        shape = [d if isinstance(d, int) else 3 for d in info.shape]
        if np.prod([float(d) for d in shape]) > 1 << 16:
            return
        feeds[info.name] = rng.standard_normal(shape).astype(np.float32)
    ours = list(model.run(feeds).values())
    theirs = reference(module, feeds)
    if theirs is None:
        return
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(our, their, rtol=1e-5, atol=1e-5)


def reference(module: ModuleOp, feeds: dict[str, Any]) -> list[Any] | None:
    """What onnxruntime makes of the module; None where it refuses it."""
    data = export_model(module).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return session.run(None, feeds)
    except Exception:
        return None


def verify_and_print(text: str) -> None:
    module = parse_module(text)
    verify_module(module)
    for target in (LLVMTarget(), NumbaTarget()):
        target.emit(make_context(), module, StringIO())


@pytest.mark.parametrize("name", MODELS)
def test_spoilt_fused_modules(name: str) -> None:
    text = fused_text(name)
    seen = {outcome(mutated(text, seed), run_and_compare) for seed in range(45)}
    assert outcome(text, run_and_compare) == "ok"
    assert {"ok", "ModelError"} <= seen


@pytest.mark.parametrize("name", MODELS)
def test_spoilt_loom_text(name: str) -> None:
    text = loom_text(name)
    seen = {outcome(mutated(text, seed), verify_and_print) for seed in range(45)}
    assert outcome(text, verify_and_print) == "ok"
    assert {"ok", "ModelError"} <= seen


FOUND: Final = {
    "block name": ("func.func @f() {\n^0:\n  onnx.Return\n}", "Invalid Block name"),
    "digits of other scripts": ('"onnx.NoValue"() : () -> tensor<\u00b23xf32>', "invalid literal"),
    "too many digits": (f'"onnx.NoValue"() {{a = {"1" * 5000} : i64}} : () -> none', "."),
    "fused op without a body": (
        '"onnx.FusedOp"() <{kind = "a.b"}> : () -> ()',
        "has 0 regions; expected one",
    ),
    "name of an inner value": (
        "func.func @f(%0: index) {\n  scf.for %1 = %0 to %0 step %2 {\n"
        "    %2 = arith.addi %0, %0 : index\n  }\n  func.return\n}",
        "scf.for: operand 2 is a value that is not defined there",
    ),
    "return with results": (
        '"onnx.FusedOp"() <{kind = "a.b"}> ({\n  %1 = "onnx.Return"() : () -> f32\n}) : () -> ()',
        "onnx.Return has results",
    ),
}


@pytest.mark.parametrize(("text", "problem"), [pytest.param(*case, id=name) for name, case in FOUND.items()])
def test_found_faults(text: str, problem: str) -> None:
    with pytest.raises(ModelError, match=problem) as caught:
        verify_module(parse_module(text))
    assert "\n" not in str(caught.value)


def test_microkernel_of_other_parameters() -> None:
    spoilt = re.sub(r"(?<=gemm_tile\", )params = {[^}]*}", "params = {}", loom_text("matmul"))
    assert "params = {}" in spoilt
    with pytest.raises(PassError, match=r"loom\.microkernel gemm_tile: parameters or operands") as caught:
        LLVMTarget().emit(make_context(), parse_module(spoilt), StringIO())
    assert "\n" not in str(caught.value)
