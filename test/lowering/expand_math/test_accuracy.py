"""Every expanded function against f64, over all exponents: within its bound in ulp, exact at the edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.expand_math.expand import EXPANSIONS
from onnxloom.lowering.kernel_library import KernelLibrary
from onnxloom.tools.testing.kernels import call, elementwise_kernel

Array = np.ndarray[Any, np.dtype[Any]]
_INF, _NAN = math.inf, math.nan

# function: (f64 reference, bound in ulp, (input, exact result))
CASES: dict[str, tuple[Callable[[Array], Array], float, list[tuple[float, float]]]] = {
    "exp": (np.exp, 1.5, [(0.0, 1.0), (_INF, _INF), (-_INF, 0.0), (88.8, _INF), (-104.5, 0.0)]),
    "exp2": (
        np.exp2,
        1.5,
        [(0.0, 1.0), (_INF, _INF), (-_INF, 0.0), (127.0, 2.0**127), (-149.0, 2.0**-149), (128.0, _INF)],
    ),
    "expm1": (
        np.expm1,
        2.0,
        [(0.0, 0.0), (-0.0, -0.0), (_INF, _INF), (-_INF, -1.0), (-100.0, -1.0), (1e-44, 1e-44)],
    ),
    "sinh": (
        np.sinh,
        2.5,
        [(0.0, 0.0), (-0.0, -0.0), (_INF, _INF), (-_INF, -_INF), (89.5, _INF), (1e-44, 1e-44)],
    ),
    "cosh": (np.cosh, 2.0, [(0.0, 1.0), (_INF, _INF), (-_INF, _INF), (89.5, _INF), (1e-30, 1.0)]),
    "log": (
        np.log,
        1.5,
        [(1.0, 0.0), (0.0, -_INF), (-0.0, -_INF), (_INF, _INF), (-1.0, _NAN), (-_INF, _NAN), (-1e-45, _NAN)],
    ),
    "log2": (
        np.log2,
        2.0,
        [(1.0, 0.0), (8.0, 3.0), (2.0**-149, -149.0), (0.0, -_INF), (_INF, _INF), (-1.0, _NAN)],
    ),
    "log10": (np.log10, 2.0, [(1.0, 0.0), (0.0, -_INF), (_INF, _INF), (-1.0, _NAN)]),
    "log1p": (
        np.log1p,
        2.0,
        [(0.0, 0.0), (-0.0, -0.0), (-1.0, -_INF), (-1.5, _NAN), (_INF, _INF), (-_INF, _NAN), (1e-44, 1e-44)],
    ),
    "asinh": (np.arcsinh, 3.0, [(0.0, 0.0), (-0.0, -0.0), (_INF, _INF), (-_INF, -_INF)]),
    "acosh": (np.arccosh, 3.0, [(1.0, 0.0), (_INF, _INF), (0.5, _NAN), (-5.0, _NAN), (-_INF, _NAN)]),
    "atanh": (
        np.arctanh,
        3.0,
        [(0.0, 0.0), (-0.0, -0.0), (1.0, _INF), (-1.0, -_INF), (1.5, _NAN), (_INF, _NAN), (1e-44, 1e-44)],
    ),
    "tanh": (
        np.tanh,
        5.0,
        [(0.0, 0.0), (-0.0, -0.0), (_INF, 1.0), (-_INF, -1.0), (9.1, 1.0), (-20.0, -1.0), (1e-44, 1e-44)],
    ),
    "erf": (
        np.vectorize(math.erf),
        5.0,
        [(0.0, 0.0), (-0.0, -0.0), (_INF, 1.0), (-_INF, -1.0), (4.0, 1.0), (-9.0, -1.0)],
    ),
    "sin": (np.sin, 2.0, [(0.0, 0.0), (-0.0, -0.0), (_INF, _NAN), (-_INF, _NAN), (1e-44, 1e-44)]),
    "cos": (np.cos, 2.0, [(0.0, 1.0), (-0.0, 1.0), (_INF, _NAN), (-_INF, _NAN)]),
    "tan": (np.tan, 3.5, [(0.0, 0.0), (-0.0, -0.0), (_INF, _NAN), (1e-44, 1e-44)]),
    "asin": (np.arcsin, 2.5, [(0.0, 0.0), (-0.0, -0.0), (1.5, _NAN), (-_INF, _NAN), (1e-44, 1e-44)]),
    "acos": (np.arccos, 2.5, [(1.0, 0.0), (1.5, _NAN), (-1.5, _NAN), (_INF, _NAN)]),
    "atan": (np.arctan, 2.5, [(0.0, 0.0), (-0.0, -0.0), (1e-44, 1e-44)]),
}


@pytest.fixture(scope="module")
def library() -> KernelLibrary:
    """All functions as kernels."""
    kernels = [elementwise_kernel(name, ["f32"], "f32", f"%r = math.{name} %a : f32") for name in CASES]
    kernels.append(elementwise_kernel("powf", ["f32", "f32"], "f32", "%r = math.powf %a, %b : f32"))
    nonpositive = "%r = math.exp %a {loom.nonpositive} : f32"
    kernels.append(elementwise_kernel("nonpositive", ["f32"], "f32", nonpositive))
    return compile_kernels(kernels)


def _samples() -> Array:
    """Both signs, all exponents (denormals too) with 600 mantissas each, and a dense middle."""
    rng = np.random.default_rng(7)
    exponents = np.repeat(np.arange(255, dtype=np.uint32), 600)
    mantissas = rng.integers(0, 1 << 23, exponents.size, dtype=np.uint32)
    mantissas[::60] = 0
    positive = ((exponents << 23) | mantissas).view(np.float32)
    near_one = (1.0 + rng.uniform(-1e-2, 1e-2, 20000)).astype(np.float32)
    dense = rng.uniform(-110.0, 110.0, 300_000).astype(np.float32)
    middle = rng.uniform(-12.0, 12.0, 300_000).astype(np.float32)
    return np.concatenate([positive, -positive, near_one, dense, middle])


def _apply(library: KernelLibrary, name: str, x: Array) -> Array:
    y = np.full_like(x, 123.0)
    call(library.address(name), x, y, x.size)
    return y


def _ulps(got: Array, want: Array) -> Array:
    """Errors in units of the last place of an f32, against f64 values."""
    with np.errstate(over="ignore"):
        rounded = want.astype(np.float32)
    unit = np.spacing(np.minimum(np.abs(rounded), np.float32(3.4e38))).astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = np.abs(got.astype(np.float64) - want) / unit
    same = (got == rounded) | (np.isnan(got) & np.isnan(want))
    return np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))


def test_exp_of_what_is_not_positive(library: KernelLibrary):
    x = -np.abs(_samples())
    x = np.concatenate([x, np.array([-np.inf, np.nan, 0.0, -0.0], np.float32)])
    y = np.zeros_like(x)
    call(library.address("nonpositive"), x, y, x.size)
    with np.errstate(all="ignore"):
        assert np.max(_ulps(y, np.exp(x.astype(np.float64)))) <= 1.5


def test_every_expansion_has_a_case():
    assert {op.name.removeprefix("math.") for op in EXPANSIONS} == {*CASES, "powf"}


@pytest.mark.parametrize("name", CASES)
def test_error_is_within_the_bound_over_all_exponents(library: KernelLibrary, name: str):
    reference, bound, _ = CASES[name]
    x = _samples()
    with np.errstate(all="ignore"):
        want = reference(x.astype(np.float64))
    ulps = _ulps(_apply(library, name, x), want)
    worst = int(np.argmax(ulps))
    assert ulps[worst] <= bound, f"{name}({x[worst]!r}): {ulps[worst]:.2f} ulp"


@pytest.mark.parametrize("name", CASES)
def test_edges_are_exact(library: KernelLibrary, name: str):
    edges = CASES[name][2]
    x = np.array([*(x for x, _ in edges), _NAN, -_NAN], np.float32)
    want = np.array([*(y for _, y in edges), _NAN, _NAN], np.float32)
    got = _apply(library, name, x)
    np.testing.assert_array_equal(got, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))


def _power(library: KernelLibrary, x: Array, y: Array) -> Array:
    z = np.full_like(x, 123.0)
    call(library.address("powf"), x, y, z, x.size)
    return z


def test_power_is_within_its_bound(library: KernelLibrary):
    rng = np.random.default_rng(3)
    x = rng.permutation(np.abs(_samples()))
    y = rng.uniform(-1.0, 1.0, x.size) * 10.0 ** rng.uniform(-3.0, 3.0, x.size)
    y = np.where(rng.random(x.size) < 0.3, rng.integers(-20, 20, x.size), y).astype(np.float32)
    x = np.where((y == np.rint(y)) & (rng.random(x.size) < 0.5), -x, x).astype(np.float32)
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.float64), y.astype(np.float64))
    ulps = _ulps(_power(library, x, y), want)
    worst = int(np.argmax(ulps))
    assert ulps[worst] <= 1.0, f"{x[worst]!r} ** {y[worst]!r}: {ulps[worst]:.2f} ulp"


def test_power_has_the_edges_of_c_pow(library: KernelLibrary):
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 2.5, -2.5, 1e-45, -1e-45]
    values += [3e38, -3e38, 16777217.0, -16777215.0, _INF, -_INF, _NAN]
    x, y = (np.ravel(v) for v in np.meshgrid(*[np.array(values, np.float32)] * 2))
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    got = _power(library, x, y)
    same_sign = np.signbit(got) == np.signbit(want)
    right = np.isnan(got) & np.isnan(want) | same_sign & ((got == want) | np.isclose(got, want, rtol=2e-7))
    bad = ~right
    assert right.all(), list(zip(x[bad], y[bad], got[bad], want[bad], strict=True))
