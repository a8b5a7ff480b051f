"""Both emitters give the same bits for every op, element type and control structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.emit_python import compile_python
from onnxloom.lowering.expand_math import expand_math
from onnxloom.tools.testing.kernels import call, elementwise_text, parse_kernels

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES: dict[str, Any] = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn, "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "i2": ml_dtypes.int2, "i4": ml_dtypes.int4,
}  # fmt: skip
INTS = ("i8", "i16", "i32", "i64")
FLOATS = ("f32", "f64")
SMALL = ("f16", "bf16", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN")


def _values(kind: str, count: int, seed: int) -> Array:
    """Random bits with the special values of `kind` among them."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(DTYPES[kind])
    if kind == "i1":
        return rng.integers(0, 2, count).astype(np.bool_)
    values = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).copy()
    if kind.startswith("i"):
        lowest = -(2 ** (int(kind[1:]) - 1))
        special = np.array([0, 1, -1, 2, -2, 7, lowest, -1 - lowest, lowest + 1]).astype(dtype)
    else:
        moderate = rng.normal(0.0, 3.0, count)
        values = np.where(rng.random(count) < 0.7, moderate.astype(dtype), values)
        special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 1e-45, 3.0]).astype(dtype)
    return np.where(rng.random(count) < 0.4, rng.choice(special, count), values)


def _same_bits(left: Array, right: Array) -> None:
    """Equal bit for bit, NaNs equal whatever their payload."""
    assert left.dtype == right.dtype
    bits = f"u{left.itemsize}"
    same = left.view(bits) == right.view(bits)
    if left.dtype.kind in "fV":
        with np.errstate(invalid="ignore"):
            same |= np.isnan(left.astype(np.float64)) & np.isnan(right.astype(np.float64))
    bad = np.flatnonzero(~same)
    assert not bad.size, f"{bad.size} differ, first at {bad[0]}: {left[bad[0]]} and {right[bad[0]]}"


def _compare(kernel: KernelOp, inputs: Sequence[Array], outputs: Sequence[str], *sizes: int) -> list[Array]:
    """Runs `kernel` through both emitters and returns the LLVM results."""
    count = max(a.size for a in inputs)
    native = [np.zeros(count, DTYPES[kind]) for kind in outputs]
    python = [np.zeros(count, DTYPES[kind]) for kind in outputs]
    library = compile_kernels([kernel])
    call(library.address(kernel.sym_name.data), *inputs, *native, *(sizes or (count,)))
    expanded = kernel.clone()
    expand_math(expanded)
    compile_python(expanded)(*inputs, *python, *(sizes or (count,)))
    for left, right in zip(native, python, strict=True):
        _same_bits(left, right)
    return native


def _elementwise(inputs: Sequence[str], outputs: Sequence[tuple[str, str]]) -> None:
    (kernel,) = parse_kernels(elementwise_text("k", inputs, outputs))
    arrays = [_values(kind, 997, seed) for seed, kind in enumerate(inputs)]
    _compare(kernel, arrays, [kind for kind, _ in outputs])


_INT_BINARY = (
    "addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui", "divsi", "divui",
    "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui",
)  # fmt: skip
_INT_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
    "uno", "true",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["i2", "i4", *INTS])
def test_integer_ops(kind: str):
    width = int(kind[1:])
    shift = f"%w{{n}} = arith.constant {width - 1} : {kind} %s{{n}} = arith.andi %b, %w{{n}} : {kind}"
    outputs = [(kind, f"{{r}} = arith.{op} %a, %b : {kind}") for op in _INT_BINARY]
    for n, op in enumerate(("shli", "shrsi", "shrui")):
        outputs.append((kind, f"{shift.format(n=n)} {{r}} = arith.{op} %a, %s{n} : {kind}"))
    outputs += [("i1", f"{{r}} = arith.cmpi {p}, %a, %b : {kind}") for p in _INT_PREDICATES]
    outputs.append((kind, f"%c = arith.cmpi slt, %a, %b : {kind} {{r}} = arith.select %c, %b, %a : {kind}"))
    outputs.append((kind, f'{{r}} = "math.absi"(%a) : ({kind}) -> {kind}'))
    _elementwise([kind, kind], outputs)


@pytest.mark.parametrize("kind", ["i2", "i4", *INTS])
def test_integer_conversions(kind: str):
    width = int(kind[1:])
    outputs = [(f, f"{{r}} = arith.{op} %a : {kind} to {f}") for f in FLOATS for op in ("sitofp", "uitofp")]
    wider = [k for k in INTS if int(k[1:]) > width]
    narrower = ["i1", *(k for k in ("i2", "i4", *INTS) if int(k[1:]) < width)]
    outputs += [(k, f"{{r}} = arith.{op} %a : {kind} to {k}") for k in wider for op in ("extsi", "extui")]
    outputs += [(k, f"{{r}} = arith.trunci %a : {kind} to {k}") for k in narrower]
    _elementwise([kind], outputs)


def test_bool_ops():
    outputs = [("i1", f"{{r}} = arith.{op} %a, %b : i1") for op in ("andi", "ori", "xori", "addi", "muli")]
    outputs += [("i1", f"{{r}} = arith.cmpi {p}, %a, %b : i1") for p in _INT_PREDICATES]
    outputs += [(k, f"{{r}} = arith.{op} %a : i1 to {k}") for k in INTS for op in ("extsi", "extui")]
    outputs += [(k, f"{{r}} = arith.{op} %a : i1 to {k}") for k in FLOATS for op in ("sitofp", "uitofp")]
    outputs.append(("i1", "{r} = arith.select %a, %b, %a : i1"))
    _elementwise(["i1", "i1"], outputs)


@pytest.mark.parametrize("kind", FLOATS)
def test_float_ops(kind: str):
    binary = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf")
    outputs = [(kind, f"{{r}} = arith.{op} %a, %b : {kind}") for op in binary]
    outputs += [("i1", f"{{r}} = arith.cmpf {p}, %a, %b : {kind}") for p in _FLOAT_PREDICATES]
    outputs.append((kind, f"{{r}} = arith.negf %a : {kind}"))
    for name in ("maximumf", "minimumf"):
        for k, operands in enumerate(("%a, %z{k}", "%z{k}, %a")):
            constant = f"%z{name}{k} = arith.constant 0.0 : {kind}"
            outputs.append(
                (kind, f"{constant} {{r}} = arith.{name} {operands} : {kind}".replace("{k}", f"{name}{k}"))
            )
    unary = ("absf", "ceil", "floor", "trunc", "roundeven", "round", "sqrt")
    outputs += [(kind, f"{{r}} = math.{op} %a : {kind}") for op in unary]
    outputs.append((kind, f"{{r}} = math.copysign %a, %b : {kind}"))
    outputs.append((kind, f"{{r}} = math.fma %a, %b, %b : {kind}"))
    _elementwise([kind, kind], outputs)


def test_bits_of_narrow_types():
    _elementwise(
        ["f4E2M1FN", "i4", "f8E8M0FNU", "i8"],
        [
            ("i4", "{r} = arith.bitcast %a : f4E2M1FN to i4"),
            ("f4E2M1FN", "{r} = arith.bitcast %b : i4 to f4E2M1FN"),
            ("i8", "{r} = arith.bitcast %c : f8E8M0FNU to i8"),
            ("f8E8M0FNU", "{r} = arith.bitcast %d : i8 to f8E8M0FNU"),
            ("f32", "{r} = arith.extf %c : f8E8M0FNU to f32"),
            ("f64", "{r} = arith.extf %c : f8E8M0FNU to f64"),
        ],
    )


def test_bits_of_floats():
    _elementwise(
        ["f32", "i32", "f64", "i64"],
        [
            ("i32", "{r} = arith.bitcast %a : f32 to i32"),
            ("f32", "{r} = arith.bitcast %b : i32 to f32"),
            ("i64", "{r} = arith.bitcast %c : f64 to i64"),
            ("f64", "{r} = arith.bitcast %d : i64 to f64"),
            ("f32", "{r} = arith.truncf %c : f64 to f32"),
            ("f64", "{r} = arith.extf %a : f32 to f64"),
        ],
    )


def test_float_to_integer_in_range():
    limit = "%h{k} = arith.constant 100.0 : f32 %m{k} = arith.minimumf %p{k}, %h{k} : f32"
    outputs: list[tuple[str, str]] = []
    for k, (op, kind) in enumerate((o, t) for t in INTS for o in ("fptosi", "fptoui")):
        positive = "%p{k} = math.absf %a : f32 " + limit
        number = "%n{k} = arith.cmpf ord, %a, %a : f32 %z{k} = arith.constant 0.0 : f32 "
        chosen = "%s{k} = arith.select %n{k}, %m{k}, %z{k} : f32 {r} = arith.OP %s{k} : f32 to KIND"
        text = f"{positive} {number} {chosen}".replace("{k}", str(k))
        outputs.append((kind, text.replace("OP", op).replace("KIND", kind)))
    _elementwise(["f32"], outputs)


@pytest.mark.parametrize("kind", SMALL)
def test_narrow_float_ops(kind: str):
    outputs = [
        ("f32", f"{{r}} = arith.extf %a : {kind} to f32"),
        ("f64", f"{{r}} = arith.extf %a : {kind} to f64"),
        (kind, f"{{r}} = arith.truncf %b : f32 to {kind}"),
        (kind, f"{{r}} = arith.truncf %c : f64 to {kind}"),
        (kind, f"%k = arith.constant 1.5 : {kind} {{r}} = arith.mulf %a, %k : {kind}"),
        (kind, f"{{r}} = math.absf %a : {kind}"),
        (kind, f"{{r}} = arith.sitofp %d : i32 to {kind}"),
    ]
    _elementwise([kind, "f32", "f64", "i32"], outputs)


def _reduction(kind: str, op: str, start: str, attributes: str = "") -> str:
    return f"""
    "loom.kernel"() <{{sym_name = "k", access = ["read", "write"]}}> ({{
    ^bb0(%x: memref<?x{kind}>, %y: memref<?x{kind}>, %rows: index, %columns: index):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %start = arith.constant {start} : {kind}
      scf.for %i = %c0 to %rows step %c1 {{
        %base = arith.muli %i, %columns : index
        %sum = scf.for %j = %c0 to %columns step %c1 iter_args(%s = %start) -> ({kind}) {{
          %at = arith.addi %base, %j : index
          %v = memref.load %x[%at] : memref<?x{kind}>
          %t = arith.{op} %s, %v {attributes} : {kind}
          scf.yield %t : {kind}
        }}
        memref.store %sum, %y[%i] : memref<?x{kind}>
      }} {{loom.parallel}}
      "loom.end"() : () -> ()
    }}) : () -> ()
    """


@pytest.mark.parametrize(
    ("kind", "op", "start"), [("f64", "addf", "0.0"), ("i32", "muli", "1"), ("f32", "maximumf", "0xFF800000")]
)
def test_loops_that_carry_a_value(kind: str, op: str, start: str):
    (kernel,) = parse_kernels(_reduction(kind, op, start))
    x = _values(kind, 7 * 33, 5)
    (result,) = _compare(kernel, [x], [kind], 7, 33)
    rows = x.reshape(7, 33)
    with np.errstate(all="ignore"):
        want = {"addf": np.add, "muli": np.multiply, "maximumf": np.maximum}[op].reduce(
            rows, axis=1, dtype=x.dtype
        )
    np.testing.assert_allclose(result[:7], want, rtol=1e-12)


@pytest.mark.parametrize("op", ["maximumf", "minimumf"])
@pytest.mark.parametrize("start", ["0xFF800000", "0x7FC00000", "0.0"])
@pytest.mark.parametrize("columns", [0, 5, 100])
def test_extremes_over_a_loop_keep_nan(op: str, start: str, columns: int):
    (kernel,) = parse_kernels(_reduction("f32", op, start))
    rng = np.random.default_rng(columns)
    x = np.abs(rng.normal(size=(40, columns))).astype(np.float32) * (1 if op == "maximumf" else -1)
    for row in range(0, 40 if columns else 0, 2):
        x[row, rng.integers(columns)] = (np.nan, -np.nan, np.inf, -np.inf)[row // 2 % 4]
    result = np.zeros(40, np.float32)
    library = compile_kernels([kernel])
    call(library.address("k"), x, result, 40, columns)
    first = (
        np.array([int(start, 16)], np.uint32).view(np.float32) if start != "0.0" else np.zeros(1, np.float32)
    )
    reduce = (np.maximum if op == "maximumf" else np.minimum).reduce
    np.testing.assert_array_equal(result, reduce(np.concatenate([np.tile(first, (40, 1)), x], 1), axis=1))


_CONTROL = """
"loom.kernel"() <{sym_name = "k", access = ["read", "write"]}> ({
^bb0(%x: memref<?xi32>, %y: memref<?xi32>, %n: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %scratch = memref.alloca() : memref<4xi32>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xi32>
    %steps, %rest = scf.while (%k = %zero, %m = %v) : (i32, i32) -> (i32, i32) {
      %more = arith.cmpi sgt, %m, %one : i32
      scf.condition(%more) %k, %m : i32, i32
    } do {
    ^bb1(%k2: i32, %m2: i32):
      %half = arith.shrsi %m2, %one : i32
      %next = arith.addi %k2, %one : i32
      scf.yield %next, %half : i32, i32
    }
    %slot = arith.constant 2 : index
    memref.store %steps, %scratch[%slot] : memref<4xi32>
    %positive = arith.cmpi sgt, %v, %zero : i32
    %r = scf.if %positive -> (i32) {
      %back = memref.load %scratch[%slot] : memref<4xi32>
      %t = arith.muli %back, %two : i32
      scf.yield %t : i32
    } else {
      scf.yield %rest : i32
    }
    %odd = arith.andi %v, %one : i32
    %is_odd = arith.cmpi eq, %odd, %one : i32
    scf.if %is_odd {
      memref.store %r, %y[%i] : memref<?xi32>
    }
  }
  "loom.end"() : () -> ()
}) : () -> ()
"""


def test_branches_while_loops_and_scratch():
    (kernel,) = parse_kernels(_CONTROL)
    x = _values("i32", 200, 3)
    (result,) = _compare(kernel, [x], ["i32"])
    want = [(2 * (int(v).bit_length() - 1) if v > 0 else int(v)) if v & 1 else 0 for v in x]
    np.testing.assert_array_equal(result, want)


_SCALAR_OPS = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf")
_MATH_OPS = ("exp", "tanh", "erf", "sqrt", "absf", "floor", "log1p", "sin")


@st.composite
def _bodies(draw: st.DrawFn) -> str:
    """A chain of f32 ops over %a, %b and earlier results, with selects and constants."""
    names = ["%a", "%b"]
    lines: list[str] = []
    for k in range(draw(st.integers(3, 12))):
        name = f"%v{k}"
        pick = [draw(st.sampled_from(names)) for _ in range(3)]
        form = draw(st.integers(0, 3))
        if form == 0:
            lines.append(f"{name} = arith.{draw(st.sampled_from(_SCALAR_OPS))} {pick[0]}, {pick[1]} : f32")
        elif form == 1:
            lines.append(f"{name} = math.{draw(st.sampled_from(_MATH_OPS))} {pick[0]} : f32")
        elif form == 2:
            constant = draw(st.sampled_from(("0.0", "-0.0", "1.5", "-3.25", "1.0e-40")))
            lines.append(f"{name} = arith.constant {constant} : f32")
        else:
            predicate = draw(st.sampled_from(_FLOAT_PREDICATES))
            lines.append(f"%q{k} = arith.cmpf {predicate}, {pick[0]}, {pick[1]} : f32")
            lines.append(f"{name} = arith.select %q{k}, {pick[1]}, {pick[2]} : f32")
        names.append(name)
    zero = "%last0 = arith.constant 0.0 : f32"
    return " ".join([*lines, zero, f"{{r}} = arith.addf {names[-1]}, %last0 : f32"])


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(_bodies(), st.sampled_from(["f32", "f16", "bf16"]))
def test_random_bodies(body: str, storage: str):
    if storage == "f32":
        _elementwise(["f32", "f32"], [("f32", body)])
        return
    widened = body.replace("%a", "%wa").replace("%b", "%wb").replace("{r}", "%wr")
    head = f"%wa = arith.extf %a : {storage} to f32 %wb = arith.extf %b : {storage} to f32"
    tail = f"{{r}} = arith.truncf %wr : f32 to {storage}"
    _elementwise([storage, storage], [(storage, f"{head} {widened} {tail}")])
