"""Does Einsum give what numpy's einsum gives?"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx.helper as oh
import pytest
from numerics import Array, assert_close, compiled, graph_model

from onnxloom.errors import OnnxloomError

RNG = np.random.default_rng(6)

EQUATIONS: dict[str, list[tuple[int, ...]]] = {
    "ij,jk->ik": [(3, 5), (5, 4)],
    "ij,jk->ki": [(3, 5), (5, 4)],
    "ji,jk": [(5, 3), (5, 4)],
    "bij,bjk->bik": [(2, 3, 5), (2, 5, 4)],
    "bqhd,bkhd->bhqk": [(2, 3, 4, 5), (2, 6, 4, 5)],
    "bhqk,bkhd->bqhd": [(2, 4, 3, 6), (2, 6, 4, 5)],
    "btd,hdk->bhtk": [(2, 3, 5), (4, 5, 6)],
    "bhwc,hkc->bhwk": [(2, 3, 4, 5), (3, 6, 5)],
    "i,i->": [(7,), (7,)],
    "i,j->ij": [(3,), (4,)],
    "i,j->ji": [(3,), (4,)],
    "ij,ij->ij": [(3, 4), (3, 4)],
    "ij,ij->": [(3, 4), (3, 4)],
    "bi,bi->b": [(3, 4), (3, 4)],
    "ij->ji": [(3, 4)],
    "ij->": [(3, 4)],
    "ij->j": [(3, 4)],
    "ba": [(3, 4)],
    "ii": [(4, 4)],
    "ii->i": [(4, 4)],
    "...ii->...i": [(2, 3, 4, 4)],
    "iij,ji->ij": [(3, 3, 4), (4, 3)],
    "ij...,jk...->ik...": [(3, 4, 2), (4, 5, 2)],
    "...ij,...jk->...ik": [(2, 1, 3, 4), (5, 4, 6)],
    "...ij,jk": [(2, 3, 4), (4, 5)],
    "i...->...": [(3, 2)],
    ",ij->ij": [(), (2, 3)],
    "->": [()],
    "ij,jk,kl->il": [(3, 4), (4, 5), (5, 6)],
    "ij,jk,k,l->il": [(3, 4), (4, 5), (5,), (6,)],
    "abc,abd,abe->acde": [(2, 3, 4), (2, 3, 5), (2, 3, 2)],
    "ijk,jil->kl": [(3, 4, 5), (4, 3, 2)],
    "Ab,bA->A": [(3, 4), (4, 3)],
    "ij,kj->ki": [(17, 33), (40, 33)],
}


def model_of(equation: str, arrays: list[Array], want: Array, dynamic: bool, constants: tuple[int, ...] = ()):
    names = [f"x{i}" for i in range(len(arrays))]
    feeds = {n: a for i, (n, a) in enumerate(zip(names, arrays, strict=True)) if i not in constants}
    held = {names[i]: arrays[i] for i in constants}
    node = oh.make_node("Einsum", names, ["y"], equation=equation)
    return compiled(graph_model([node], feeds, {"y": want}, constants=held, dynamic=dynamic)), feeds


def check(equation: str, arrays: list[Array], *, dynamic: bool, constants: tuple[int, ...] = ()) -> None:
    exact = [a.astype(np.float64) if a.dtype.kind in "fV" else a for a in arrays]
    want = np.asarray(np.einsum(equation.replace(" ", ""), *exact)).astype(arrays[0].dtype)
    model, feeds = model_of(equation, arrays, want, dynamic, constants)
    rtol = 1e-5 if arrays[0].dtype.itemsize > 2 else 2e-2
    assert_close(list(model.run(feeds).values()), [want], rtol=rtol, atol=rtol)
    assert not model.host_counts


def numbers(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return (RNG.normal(size=shape) * (1 if np.dtype(dtype).kind in "fV" else 20)).astype(dtype)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations(equation: str) -> None:
    for dynamic in (False, True):
        check(equation, [numbers(s) for s in EQUATIONS[equation]], dynamic=dynamic)


@pytest.mark.parametrize("dtype", ["float16", "float64", ml_dtypes.bfloat16, "int8", "int32", "uint64"])
@pytest.mark.parametrize("equation", ["bqhd,bkhd->bhqk", "ii->i", "ij,ij->", "i,j->ij", "ij->j"])
def test_element_types(equation: str, dtype: Any) -> None:
    check(equation, [numbers(s, dtype) for s in EQUATIONS[equation]], dynamic=False)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_dims_of_one_are_broadcast(dtype: Any) -> None:
    for dynamic in (False, True):
        check("ij,jk->ik", [numbers((3, 1), dtype), numbers((5, 4), dtype)], dynamic=dynamic)
        check("bij,bjk->bki", [numbers((1, 3, 5), dtype), numbers((2, 5, 4), dtype)], dynamic=dynamic)
        check("...i,...i->...", [numbers((1, 3, 5), dtype), numbers((2, 1, 5), dtype)], dynamic=dynamic)


def test_no_elements() -> None:
    for shapes in ([(0, 3), (3, 2)], [(2, 0), (0, 3)], [(2, 3), (3, 0)]):
        for dynamic in (False, True):
            check("ij,jk->ki", [numbers(s) for s in shapes], dynamic=dynamic)


@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij,kj->ik", "jbi,bkj->bik", "ij,ij->ji", "ii,ij->ij"])
def test_constant_operands(equation: str) -> None:
    sizes = dict(zip("bijk", (2, 6, 5, 4), strict=True))
    shapes = [tuple(sizes[c] for c in term) for term in equation.split("->")[0].split(",")]
    for place in (0, 1):
        check(equation, [numbers(s) for s in shapes], dynamic=False, constants=(place,))


def test_dims_that_differ_are_refused() -> None:
    for equation, shapes in (("ij,jk->ik", [(2, 3), (4, 5)]), ("ii->i", [(2, 3)])):
        arrays = [numbers(s) for s in shapes]
        model, feeds = model_of(equation, arrays, np.zeros((1,) * (len(equation) // 4), np.float32), True)
        with pytest.raises(OnnxloomError):
            model.run(feeds)


def test_random_equations() -> None:
    for _ in range(12):
        letters = "abcdef"[: RNG.integers(2, 6)]
        sizes = {c: int(RNG.integers(1, 5)) for c in letters}
        terms = [
            "".join(RNG.permutation(list(letters))[: RNG.integers(1, 4)]) for _ in range(RNG.integers(1, 4))
        ]
        used = sorted(set("".join(terms)))
        output = "".join(RNG.permutation(used)[: RNG.integers(0, len(used) + 1)])
        arrays = [numbers(tuple(sizes[c] for c in term)) for term in terms]
        check(f"{','.join(terms)}->{output}", arrays, dynamic=bool(RNG.integers(2)))
