"""Does a case give what onnxruntime gives? Compiled with and without passes, and op by op on the host."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from random_checks.compiled import compile_together
from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_import import import_model
from onnxloom.conversion.onnx_to_loom.convert import ConvertOnnxToLoomPass
from onnxloom.dialects import onnx as onnx_dialect
from onnxloom.dialects.onnx.text import make_context
from onnxloom.errors import UnsupportedOpError
from onnxloom.lowering.compile import CompileOptions, compile_module
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.lowering.optimize import optimize_module
from onnxloom.lowering.runtime.host_ops import can_evaluate
from onnxloom.lowering.runtime.model import CompiledModel
from peer_cases.case import Array, Case
from peer_cases.registry import Limit, PeerOp

WAYS = ("O0", "O3", "host")


@dataclass
class Tally:
    """What came of the cases of one op."""

    cases: int = 0
    refused_by_peer: int = 0
    refused_by_us: int = 0
    host_steps: int = 0
    """Cases of which a compiled form has a host step."""
    mismatches: list[str] = field(default_factory=list[str])
    peer_reasons: list[str] = field(default_factory=list[str])
    our_reasons: list[str] = field(default_factory=list[str])


@dataclass
class _Attempt:
    """A case on its way."""

    seed: int
    case: Case
    model: onnx.ModelProto
    feeds: Mapping[str, Array]
    want: list[Any]
    modules: dict[str, ModuleOp] = field(default_factory=dict[str, ModuleOp])
    host: ModuleOp | None = None


def tally(op: PeerOp, seeds: Sequence[int], ways: Sequence[str] = WAYS) -> Tally:
    """Compares the cases of some seeds; the kernels of all are compiled in one go."""
    found = Tally(len(seeds))
    attempts: list[_Attempt] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in seeds:
            attempt = _asked(op, seed, found)
            if attempt is not None and _lowered(attempt, ways, found):
                attempts.append(attempt)
        compile_together([module for attempt in attempts for module in attempt.modules.values()])
        for attempt in attempts:
            _compared(op, attempt, found)
    return found


def _asked(op: PeerOp, seed: int, found: Tally) -> _Attempt | None:
    """What onnxruntime says; None where it refuses."""
    case = op.case(seed)
    model, feeds = case.model()
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        want = session.run(None, dict(feeds))
    except Exception as error:
        found.refused_by_peer += 1
        found.peer_reasons.append(f"seed {seed}: {_line(error)}")
        return None
    return _Attempt(seed, case, model, feeds, list(want))


def _lowered(attempt: _Attempt, ways: Sequence[str], found: Tally) -> bool:
    """Imports, optimizes and converts; counts a refusal, and anything else that is raised as a mismatch."""
    tiles = CpuTarget.host().tiles
    conversion = ConvertOnnxToLoomPass(tiles.vector_bytes, tiles.vector_registers, tiles.dot_bytes)
    try:
        for way in ways:
            level = int(way[1]) if way != "host" else 0
            module = import_model(attempt.model)
            optimize_module(module, make_context(), CompileOptions(opt_level=level, strict=True))
            if way == "host":
                attempt.host = module
                _refuse_unknown(module)
                continue
            conversion.apply(make_context(), module)
            attempt.modules[way] = module
    except UnsupportedOpError as error:
        found.refused_by_us += 1
        found.our_reasons.append(f"seed {attempt.seed}: {_line(error)}")
        return False
    except Exception as error:
        found.mismatches.append(f"{_title(attempt, 'lowering')}: {type(error).__name__}: {_line(error)}")
        return False
    return True


def _refuse_unknown(module: ModuleOp) -> None:
    """Raises UnsupportedOpError for an op of another domain that nothing on the host evaluates."""
    for op in module.walk():
        if isinstance(op, onnx_dialect.CustomOp) and not can_evaluate(
            op.domain_name.data, op.function_name.data
        ):
            raise UnsupportedOpError(f"{op.function_name.data} has no host implementation")


def _compared(op: PeerOp, attempt: _Attempt, found: Tally) -> None:
    models: list[CompiledModel] = []
    runs: dict[str, Callable[[], Mapping[str, Any]]] = {}
    for way, module in attempt.modules.items():
        try:
            model = compile_module(module, CompileOptions(opt_level=int(way[1])))
        except UnsupportedOpError as error:
            found.refused_by_us += 1
            found.our_reasons.append(f"seed {attempt.seed}: {_line(error)}")
            return
        models.append(model)
        runs[way] = lambda model=model: model.run(dict(attempt.feeds))
    if attempt.host is not None:
        runs["host"] = lambda: evaluate_module(_there(attempt.host), attempt.feeds)
    for way, run in runs.items():
        try:
            got = list(run().values())
        except Exception as error:
            found.mismatches.append(f"{_title(attempt, way)}: {type(error).__name__}: {_line(error)}")
            continue
        problem = difference(attempt.case, got, attempt.want, op.limit)
        if problem:
            found.mismatches.append(f"{_title(attempt, way)}: {problem}")
    found.host_steps += any(model.host_counts for model in models)


def _there(module: ModuleOp | None) -> ModuleOp:
    assert module is not None
    return module


def _title(attempt: _Attempt, way: str) -> str:
    return f"seed {attempt.seed} {way} {attempt.case}"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def difference(case: Case, got: Sequence[Any], want: Sequence[Any], limit: Limit) -> str:
    """What is wrong with the results; "" when nothing is."""
    names = [index for index, wanted in enumerate(case.wanted) if wanted]
    if len(got) != len(want):
        return f"{len(got)} results, expected {len(want)}"
    for index, a, b in zip(names, got, want, strict=True):
        problem = _apart(case, index, a, b, limit)
        if problem:
            return f"result {index}: {problem}"
    return ""


def _apart(case: Case, index: int, a: Any, b: Any, limit: Limit) -> str:
    if not isinstance(b, np.ndarray):
        return _maps_apart(a, b, limit)
    if a.dtype != b.dtype and not (a.dtype.kind in "OU" and b.dtype.kind in "OU"):
        return f"{a.dtype}, expected {b.dtype}"
    if a.shape != b.shape:
        return f"shape {a.shape}, expected {b.shape}"
    if case.meant is not None:
        a, b = case.meant(index, a), case.meant(index, b)
    if b.dtype.kind in "OUb":
        return "" if (a == b).all() else f"{a.ravel()[:8]}, expected {b.ravel()[:8]}"
    if b.dtype.kind in "iu":
        return _integers_apart(a, b, limit)
    relative = limit.half if b.dtype.itemsize == 2 else limit.relative
    return _floats_apart(a.astype(np.float64), b.astype(np.float64), relative)


def _integers_apart(a: Array, b: Array, limit: Limit) -> str:
    if (a == b).all():
        return ""
    off = np.abs(a.astype(object) - b.astype(object))
    count = int((off != 0).sum())
    if off.max() <= limit.quanta and (count <= 1 or count <= limit.share * off.size):
        return ""
    return f"{count} of {off.size} integers are off by up to {off.max()}"


def _floats_apart(a: Array, b: Array, relative: float) -> str:
    finite = np.isfinite(b)
    if not np.array_equal(np.where(finite, 0, a), np.where(finite, 0, b), equal_nan=True):
        where = np.argwhere(~finite & ~((a == b) | (np.isnan(a) & np.isnan(b))))[0]
        return f"{a[tuple(where)]} at {where.tolist()}, expected {b[tuple(where)]}"
    scale = max(1.0, float(np.abs(b[finite]).max(initial=0.0)))
    off = np.where(finite, np.abs(a - b), 0.0)
    wrong = ~(off <= relative * scale)
    if not wrong.any():
        return ""
    where = np.argwhere(wrong)[0]
    return (
        f"{int(wrong.sum())} of {a.size} floats are off, first {a[tuple(where)]:.9g} at {where.tolist()}, "
        f"expected {b[tuple(where)]:.9g}"
    )


def _maps_apart(a: Any, b: Any, limit: Limit) -> str:
    """Lists of maps, or a map."""
    if isinstance(b, list):
        if len(a) != len(b):
            return f"{len(a)} items, expected {len(b)}"
        return next((p for x, y in zip(a, b, strict=True) if (p := _maps_apart(x, y, limit))), "")
    if isinstance(b, dict):
        if set(a) != set(b):
            return f"keys {list(a)[:5]}, expected {list(b)[:5]}"
        values = [np.array([m[k] for k in b], np.float64) for m in (a, b)]
        return _floats_apart(values[0], values[1], limit.relative)
    return "" if a == b else f"{a!r}, expected {b!r}"
