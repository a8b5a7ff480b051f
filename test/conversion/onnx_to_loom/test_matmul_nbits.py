"""Products with weights of few bits against f64 arithmetic, and against onnxruntime.

All cases of a test are nodes of one model, so that their kernels are compiled in one go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from lowering_reasons import Case as Case_
from lowering_reasons import reason_of
from onnx import helper, numpy_helper

import onnxloom
from onnxloom.conversion.onnx_to_loom.ops.matmul_nbits import zero_points

Array = npt.NDArray[Any]
B = "dense<7> : tensor<2x2x16xui8>"

RNG = np.random.default_rng(5)


@dataclass(frozen=True)
class Case:
    """One product."""

    rows: tuple[int, ...]
    depth: int
    columns: int
    bits: int = 4
    block: int = 32
    zeros: str = ""
    """`packed`, `floats` or none."""
    bias: bool = False
    dtype: Any = np.float32
    flat: bool = False
    """Whether scales have one dim."""

    @property
    def blocks(self) -> int:
        return -(-self.depth // self.block)

    def tensors(self) -> dict[str, Array]:
        n, blocks = self.columns, self.blocks
        found = {
            "A": RNG.normal(size=(*self.rows, self.depth)).astype(self.dtype),
            "B": RNG.integers(0, 256, (n, blocks, self.block * self.bits // 8)).astype(np.uint8),
            "scales": RNG.uniform(0.001, 0.02, n * blocks if self.flat else (n, blocks)).astype(self.dtype),
        }
        if self.zeros == "packed":
            size = -(-blocks * self.bits // 8)
            found["zeros"] = RNG.integers(0, 256, (n, size)).astype(np.uint8)
        if self.zeros == "floats":
            found["zeros"] = RNG.uniform(0, 15, (n, blocks)).astype(self.dtype)
        if self.bias:
            found["bias"] = RNG.normal(size=n).astype(self.dtype)
        return found

    def wanted(self, t: dict[str, Array]) -> Array:
        """In f64, from bits spelled out one by one."""
        n, blocks = self.columns, self.blocks
        bits = np.unpackbits(t["B"].reshape(n, -1), axis=1, bitorder="little")
        numbers = bits.reshape(n, -1, self.bits) @ (1 << np.arange(self.bits))
        zero = np.full((n, blocks), 1 << (self.bits - 1), np.float64)
        if self.zeros == "floats":
            zero = t["zeros"].astype(np.float64)
        if self.zeros == "packed":
            held = np.unpackbits(t["zeros"], axis=1, bitorder="little").reshape(n, -1, self.bits)
            zero = (held @ (1 << np.arange(self.bits)))[:, :blocks].astype(np.float64)
        scale = t["scales"].reshape(n, blocks).astype(np.float64)
        weights = (numbers.reshape(n, blocks, self.block) - zero[..., None]) * scale[..., None]
        product = t["A"].astype(np.float64) @ weights.reshape(n, -1)[:, : self.depth].T
        return product + t["bias"] if self.bias else product


def model_of(cases: list[tuple[Case, dict[str, Array]]], **attributes: Any) -> tuple[onnx.ModelProto, Any]:
    nodes, infos, held, feeds, outputs = [], [], [], {}, []
    for i, (case, t) in enumerate(cases):
        names = [f"{name}{i}" if name in t else "" for name in ("A", "B", "scales", "zeros", "order", "bias")]
        while not names[-1]:
            names.pop()
        own: dict[str, Any] = {
            "K": case.depth,
            "N": case.columns,
            "bits": case.bits,
            "block_size": case.block,
            **attributes,
        }
        nodes.append(helper.make_node("MatMulNBits", names, [f"y{i}"], domain="com.microsoft", **own))
        held += [numpy_helper.from_array(v, f"{k}{i}") for k, v in t.items() if k != "A"]
        code = helper.np_dtype_to_tensor_dtype(t["A"].dtype)
        infos.append(helper.make_tensor_value_info(f"A{i}", code, t["A"].shape))
        feeds[f"A{i}"] = t["A"]
        outputs.append(helper.make_tensor_value_info(f"y{i}", code, None))
    graph = helper.make_graph(nodes, "products", infos, outputs, held)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


CASES = [
    Case((1,), 64, 16),
    Case((1,), 61, 33, zeros="packed"),
    Case((2, 3), 96, 40, zeros="packed", bias=True),
    Case((17,), 33, 7, bits=8, zeros="packed"),
    Case((9,), 130, 20, bits=2, block=64, zeros="packed"),
    Case((5,), 31, 5, zeros="floats", flat=True),
    Case((4,), 16, 1, block=16, bias=True),
    Case((8,), 200, 48, block=128, bits=8),
    Case((0,), 64, 16),
    Case((3,), 64, 24, dtype=np.float16, zeros="packed", bias=True),
]


def test_values() -> None:
    given = [(case, case.tensors()) for case in CASES]
    model, feeds = model_of(given)
    compiled = onnxloom.compile(model, cache=False)
    results = list(compiled.run(feeds).values())
    assert compiled.host_steps == 0, compiled.host_counts
    for (case, t), actual in zip(given, results, strict=True):
        wanted = case.wanted(t)
        assert actual.dtype == case.dtype and actual.shape == wanted.shape
        close = 2e-3 if case.dtype == np.float16 else 3e-6
        limit = close * np.abs(wanted).max(initial=1e-9)
        assert np.abs(actual - wanted).max(initial=0) <= limit, case


def test_an_infinite_scale_makes_each_product_infinite() -> None:
    """A weight at its zero point is not a number, whatever the others of its block add up to."""
    case = Case((2,), 64, 5)
    t = case.tensors()
    t["scales"][1:3, 0] = np.inf, -np.inf
    model, feeds = model_of([(case, t)])
    compiled = onnxloom.compile(model, cache=False)
    (y,) = compiled.run(feeds).values()
    assert compiled.host_steps == 0, compiled.host_counts
    with np.errstate(invalid="ignore"):
        wanted = case.wanted(t)
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", [CASES[1], CASES[2], CASES[7]])
def test_errors_are_those_of_onnxruntime(case: Case) -> None:
    t = case.tensors()
    model, feeds = model_of([(case, t)])
    theirs = ort.InferenceSession(model.SerializeToString()).run(None, feeds)[0]
    (ours,) = onnxloom.compile(model, cache=False).run(feeds).values()
    errors = [np.abs(y - case.wanted(t)).max() for y in (ours, np.asarray(theirs))]
    assert errors[0] <= 2 * errors[1] + 1e-7


def test_a_depth_that_is_not_known_is_checked_when_the_model_runs() -> None:
    case = Case((2, 3), 61, 33, zeros="packed")
    t = case.tensors()
    model, feeds = model_of([(case, t)])
    for axis, dim in enumerate(model.graph.input[0].type.tensor_type.shape.dim):
        dim.dim_param = f"d{axis}"
    compiled = onnxloom.compile(model, cache=False)
    (y,) = compiled.run(feeds).values()
    np.testing.assert_allclose(y, case.wanted(t), rtol=1e-4, atol=1e-4)
    with pytest.raises(onnxloom.OnnxloomError, match="A is not multiplied with weights of 61 rows"):
        compiled.run({"A0": np.zeros((2, 3, 62), np.float32)})


def test_zero_points_are_packed_column_by_column() -> None:
    packed = np.array([[0x21, 0x03], [0x54, 0x06]], np.uint8)
    assert zero_points(packed, 2, 3, 4).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert zero_points(None, 1, 2, 8).tolist() == [[128, 128]]


def custom(
    a: str = "tensor<4x64xf32>",
    b: str = B,
    order: str = "none",
    *,
    scales: str = "dense<0.5> : tensor<2x2xf32>",
    zeros: str = "none",
    bias: str = "none",
    **attributes: int,
) -> Case_:
    given = {"K": 64, "N": 2, "bits": 4, "block_size": 32, **attributes}
    text = ", ".join(f"{name} = {value} : si64" for name, value in given.items())
    names = 'domain_name = "com.microsoft", function_name = "MatMulNBits", '
    return ("Custom", [a, b, scales, zeros, order, bias], names + text, ["tensor<4x2xf32>"])


DECLINES = {
    "weights whose blocks are in another order have no kernel": custom(order="tensor<64xi32>"),
    "weights of 3 bits in blocks of 32 have no kernel": custom(bits=3),
    "weights of 4 bits in blocks of 8 have no kernel": custom(block_size=8),
    "A of type tensor<4x64xi32> is not multiplied with weights of 64 rows": custom("tensor<4x64xi32>"),
    "A of type tensor<4x63xf32> is not multiplied with weights of 64 rows": custom("tensor<4x63xf32>"),
    "the weights, their scales or zero points are not constant": custom(b="tensor<2x2x16xui8>"),
    "32 bytes of uint8 weights do not fit 2 columns of 2 blocks of 16 bytes": custom(
        b="dense<7> : tensor<2x2x8xui8>"
    ),
    "256 bytes of int32 weights do not fit 2 columns of 2 blocks of 16 bytes": custom(
        b="dense<7> : tensor<2x2x16xi32>"
    ),
    "3 scales do not fit 2 columns of 2 blocks": custom(scales="dense<0.5> : tensor<3xf32>"),
    "scales that are infinite do not come after sums of products": custom(
        scales="dense<0x7F800000> : tensor<2x2xf32>"
    ),
    "3 zero points do not fit 2 columns of 2 blocks": custom(zeros="dense<1> : tensor<3xui8>"),
    "a bias of type tensor<1xf32> does not fit 2 columns": custom(bias="tensor<1xf32>"),
}


@pytest.mark.parametrize("reason", DECLINES)
def test_declines(reason: str) -> None:
    assert reason_of(DECLINES[reason]) == reason


def test_the_form_that_is_varied_has_a_kernel() -> None:
    assert reason_of(custom()) is None
