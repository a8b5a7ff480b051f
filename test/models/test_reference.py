"""Real models give the outputs that onnxruntime without optimizations gives.

A small set runs by default, all with `-m full`. The models are fetched by `make models` (into `.models`,
or `$ONNXLOOM_MODELS_DIR`); a test whose model is not there is skipped.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnxloom

SMALL = (
    "swift_f0", "basic_pitch_nmp", "magika_v1", "dtln_1", "dtln_2", "pyfrspell_derive_int8",
    "chars2vec_en300", "silero_vad_v6", "silero_vad_half", "onnx_light_squeezenet", "onnx_light_resnet50",
    "ortds_mul_1", "ortds_sigmoid", "ortds_logreg_iris",
)  # fmt: skip
"""Run by default."""

INDEX = Path(__file__).resolve().parents[2] / "tools" / "models.json"
NAMES: tuple[str, ...] = tuple(entry["name"] for entry in json.loads(INDEX.read_text()))

TOLERANCE = {"float16": 2e-3, "float32": 1e-4, "float64": 1e-4}
"""Largest absolute difference over the largest absolute reference, by output type; integers are equal."""

WIDER = {
    "basic_pitch_nmp": (
        1e-3,
        "all values are scaled by the logarithm of the smallest magnitude, where rounding shows most: "
        "onnxruntime with its optimizations differs from the reference by 4.2e-4 too, and from a float64 "
        "evaluation by 3.3e-4, as we do",
    ),
    "tashkeel_rawi_v3_int8": (
        2e-2,
        "an activation that rounds the other way moves a whole quantization step",
    ),
    "tashkeel_bilstm_int8": (2e-3, "an activation that rounds the other way moves a whole quantization step"),
}
"""Model -> tolerance, and why it is not the usual one."""

SATURATING = (
    "pyfrspell_derive_int8", "pyfrspell_lemma_int8", "tashkeel_bilstm_int8", "tashkeel_rawi_int8",
    "tashkeel_rawi_v3_int8", "tashkeel_rawi_ensemble_int8",
)  # fmt: skip
"""Models with uint8 x int8 products. On x86 processors without VNNI onnxruntime adds pairs of products in
16 bits, which saturates (the standard allows no overflow below 32 bits). References computed there are
compared with a run whose products saturate the same way."""


def parameters() -> list[Any]:
    return [
        pytest.param(name, marks=pytest.mark.fetched if name in SMALL else pytest.mark.full) for name in NAMES
    ]


@pytest.fixture
def model(request: pytest.FixtureRequest, models_dir: Path) -> Path:
    folder = models_dir / request.param
    if not (folder / "outputs.npz").exists():
        pytest.skip(f"{folder} is not there: fetch it with `make models`")
    return folder


def load(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=True) as archive:
        return dict(archive)


def run(folder: Path) -> dict[str, Any]:
    session = onnxloom.InferenceSession(folder / "model.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", onnxloom.HostStepWarning)
        feeds = load(folder / "inputs.npz")
        results = session.run(None, feeds)
        again = session.run(None, feeds)
    for first, second in zip(results, again, strict=True):
        if isinstance(first, np.ndarray):
            np.testing.assert_array_equal(first, second, "two runs on the same inputs differ")
    return dict(zip([o.name for o in session.get_outputs()], results, strict=True))


def difference(got: Any, expected: Any) -> float:
    """Largest difference relative to the largest reference; infinite when type or shape differ."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return np.inf
    if expected.dtype.kind not in "fc":
        return 0.0 if np.array_equal(got, expected) else np.inf
    largest = np.abs(expected.astype(np.float64)).max(initial=1e-30)
    return float(np.abs(got.astype(np.float64) - expected.astype(np.float64)).max(initial=0) / largest)


def misses(name: str, got: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for output, reference in expected.items():
        limit, _ = WIDER.get(name, (TOLERANCE.get(reference.dtype.name, 0.0), ""))
        off = difference(got[output], reference)
        if off > limit:
            found.append(f"{output}: {off:.2e} (allowed {limit:.0e})")
    return found


@pytest.mark.parametrize("model", parameters(), indirect=True)
def test_outputs_match_the_reference(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = load(model / "outputs.npz")
    assert expected, "the reference has no outputs"
    found = misses(model.name, run(model), expected)
    if found and model.name in SATURATING:
        saturate(monkeypatch)
        found = misses(model.name, run(model), expected)
    assert not found, "; ".join(found)


def saturate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes products of uint8 and int8 add up in pairs of 16 bits, on the host instead of in kernels."""
    from onnxloom.conversion.onnx_to_loom import block_converter
    from onnxloom.lowering.plan_cache import PlanCache
    from onnxloom.lowering.runtime.host_ops import registry
    from onnxloom.lowering.runtime.host_ops.replacements import dynamic_quantize_lstm

    # A fused product would never be asked for on the host.
    monkeypatch.setenv("ONNXLOOM_SKIP_PASSES", "fuse-ops")
    with_kernel = block_converter.lowering_of

    def lowering_of(op: Any) -> Any:
        name = op.function_name.data if op.name == "onnx.Custom" else op.onnx_name
        return None if name in ("MatMulInteger", "DynamicQuantizeLSTM") else with_kernel(op)

    monkeypatch.setattr(block_converter, "lowering_of", lowering_of)
    monkeypatch.setattr(PlanCache, "of", lambda source, options: None)  # pyright: ignore

    def product(a: Any, b: Any) -> Any:
        odd = [(0, 0)] * (a.ndim - 1) + [(0, a.shape[-1] % 2)]
        a = np.pad(a.astype(np.int32), odd)
        b = np.pad(b.astype(np.int32), [(0, b.shape[0] % 2), (0, 0)])
        total = np.zeros((*a.shape[:-1], b.shape[1]), np.int64)
        for k in range(0, b.shape[0], 2):
            pair = a[..., k, None] * b[k] + a[..., k + 1, None] * b[k + 1]
            total += np.clip(pair, -32768, 32767)
        return total

    def matmul_integer(_: Any, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> list[Any]:
        left = 0 if a_zero is None else a_zero.astype(np.int64)
        right = 0 if b_zero is None else b_zero.astype(np.int64)
        columns, rows = b.astype(np.int64).sum(0), a.astype(np.int64).sum(-1, keepdims=True)
        total = product(a, b) - left * columns - right * rows + left * right * b.shape[0]
        return [total.astype(np.int32)]

    def lstm_product(a: Any, b: Any, scale: Any, zero: Any) -> Any:
        low, high = min(0.0, float(a.min())), max(0.0, float(a.max()))
        step = np.float32((np.float32(high) - np.float32(low)) / np.float32(255))
        if step == 0:
            return np.zeros((*a.shape[:-1], b.shape[1]), np.float32)
        offset = np.clip(np.rint(-np.float32(low) / step), 0, 255)
        quantized = np.clip(np.rint(a / step) + offset, 0, 255).astype(np.uint8)
        (sums,) = matmul_integer(None, quantized, b, np.array(int(offset)), np.asarray(zero))
        return (sums * (step * scale)).astype(np.float32)

    registry.replacement("", "MatMulInteger")  # loads the table
    functions = registry._FUNCTIONS  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setitem(functions, ("", "MatMulInteger"), matmul_integer)
    monkeypatch.setattr(dynamic_quantize_lstm, "quantized_matmul", lstm_product)


@pytest.mark.fetched
@pytest.mark.parametrize("model", ["dtln_2"], indirect=True)
def test_no_product_or_elementwise_op_of_these_models_runs_on_the_host(model: Path) -> None:
    assert_compiled(model)


@pytest.mark.full
@pytest.mark.parametrize("model", ["oww_embedding", "open_nsfw", "ppocr_v4_det"], indirect=True)
def test_no_product_or_elementwise_op_of_larger_models_runs_on_the_host(model: Path) -> None:
    assert_compiled(model)


def assert_compiled(folder: Path) -> None:
    from onnxloom.dialects import onnx
    from onnxloom.dialects.onnx.semantics import is_elementwise
    from onnxloom.lowering.build_model import read_module
    from onnxloom.lowering.compile import CompileOptions

    module = read_module(folder / "model.onnx", CompileOptions())
    compute = {op.onnx_name for op in module.walk() if isinstance(op, onnx.OnnxOp) and is_elementwise(op)}
    compute |= {"MatMul", "Gemm"}
    session = onnxloom.InferenceSession(folder / "model.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.run(None, load(folder / "inputs.npz"))
    on_host = {title.split()[0] for title in session.model.host_counts}
    assert not on_host & compute


def test_a_wrong_output_is_noticed() -> None:
    right = {"y": np.ones(3, np.float32)}
    assert not misses("swift_f0", {"y": np.ones(3, np.float32)}, right)
    assert misses("swift_f0", {"y": np.array([1, 1, 1.001], np.float32)}, right)
    assert misses("swift_f0", {"y": np.ones((3, 1), np.float32)}, right)
    assert misses("swift_f0", {"y": np.ones(3)}, right)
    assert misses("swift_f0", {"y": np.array([1, 2])}, {"y": np.array([1, 3])})
