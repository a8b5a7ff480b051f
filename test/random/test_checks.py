"""The checks of random graphs notice what they are there for, and nothing that is only rounding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from host_graph import Host
from random_checks.cases import keep_case, load_case
from random_checks.compare import Agreement, value_failure
from random_checks.failure import Failure
from random_checks.passes import PassCheck, imported, pass_failure, pass_failures
from random_checks.reduction import reduced
from random_checks.stability import Stability
from random_graphs import RandomGraph
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx as dialect
from onnxloom.transforms.pass_manager.pass_table import TRANSFORM_PASSES

Array = np.ndarray[Any, Any]


def graph_of(text: str, **feeds: Any) -> RandomGraph:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 24]> {text}')
    arrays = {name: np.asarray(value) for name, value in feeds.items()}
    names = [output.name for output in model.graph.output]
    values = Host().graph(model.graph, arrays)
    return RandomGraph(model, arrays, dict(zip(names, values, strict=True)))


X = np.array([0.3, -1.7, 2.4, 0.9], np.float32)
TANH = graph_of("g (float[4] x) => (float[4] y) { y = Tanh (x) }", x=X)


def moved(graph: RandomGraph, by: float) -> dict[str, Array]:
    return {name: (value * (1 + by)).astype(value.dtype) for name, value in graph.wanted.items()}


def test_rounding_is_told_from_errors() -> None:
    assert value_failure("c", TANH, moved(TANH, 1e-6), Agreement.ROUNDING) is None
    assert value_failure("c", TANH, moved(TANH, 1e-4), Agreement.ROUNDING) is not None
    assert value_failure("c", TANH, moved(TANH, 1e-6), Agreement.EXACT) is not None


def test_ops_that_compute_nothing_may_not_be_off() -> None:
    graph = graph_of("g (float[4] x) => (float[4] y) { y = Neg (x) }", x=X)
    assert value_failure("c", graph, moved(graph, 1e-6), Agreement.ROUNDING) is not None


def test_a_jump_that_rounding_causes_is_explained() -> None:
    text = "g (float[1] x) => (float[1] y) { s = Sqrt (x) y = Floor (s) }"
    graph = graph_of(text, x=np.array([4.0], np.float32))
    assert value_failure("c", graph, {"y": np.array([1.0], np.float32)}, Agreement.ROUNDING) is None
    steady = graph_of(text, x=np.array([6.0], np.float32))
    assert value_failure("c", steady, {"y": np.array([1.0], np.float32)}, Agreement.ROUNDING) is not None


def test_names_types_and_shapes_count() -> None:
    got = TANH.wanted["y"]
    for wrong in ({"z": got}, {"y": got.astype(np.float64)}, {"y": got.reshape(2, 2)}, {}):
        assert value_failure("c", TANH, wrong, Agreement.ROUNDING) is not None


def test_infinities_and_nan_are_values() -> None:
    text = "g (float[2] x) => (float[2] y) { y = Exp (x) }"
    graph = graph_of(text, x=np.array([np.inf, np.nan], np.float32))
    stability = Stability(graph.model, graph.feeds, graph.wanted)
    assert stability.explains({"y": np.array([np.inf, np.nan], np.float32)})
    assert not stability.explains({"y": np.array([3e38, np.nan], np.float32)})
    assert not stability.explains({"y": np.array([np.inf, 1.0], np.float32)})


def test_overflow_that_a_shift_avoids_is_not_compared() -> None:
    text = "g (float[2] x) => (float[2] y) { e = Exp (x) s = ReduceSum (e) y = Div (e, s) }"
    graph = graph_of(text, x=np.array([200.0, 1.0], np.float32))
    stability = Stability(graph.model, graph.feeds, graph.wanted)
    assert np.isnan(graph.wanted["y"][0])
    assert stability.explains({"y": np.array([1.0, 0.0], np.float32)})
    calm = graph_of(text, x=np.array([2.0, 1.0], np.float32))
    assert value_failure("c", calm, {"y": np.array([1.0, 0.0], np.float32)}, Agreement.ROUNDING) is not None


def test_the_verdict_names_who_is_alone() -> None:
    failure = value_failure("c", TANH, moved(TANH, 1e-2), Agreement.ROUNDING)
    assert failure is not None
    assert failure.blame == "onnxruntime agrees with the host"


@dataclass(frozen=True)
class _SwapSub(ModulePass):
    """A planted bug: the operands of Sub change places."""

    name = "swap-sub"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, dialect.SubOp):
                inner.operands = list(reversed(inner.operands))


@dataclass(frozen=True)
class _Raise(ModulePass):
    name = "raise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise RuntimeError("no")


@dataclass(frozen=True)
class _LieAboutTypes(ModulePass):
    name = "lie"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from xdsl.dialects.builtin import TensorType, f32
        from xdsl.rewriter import Rewriter

        for inner in op.walk():
            if isinstance(inner, dialect.ExpOp):
                Rewriter.replace_value_with_new_type(inner.results[0], TensorType(f32, [5]))


SUBTRACTS = graph_of(
    """g (float[4] x, float[4] y) => (float[4] r, float[4] q) {
         a = Exp (x) b = Neg (y) c = Sub (a, b) d = Relu (c) r = Add (d, x) e = Tanh (y) q = Mul (e, x)
       }""",
    x=X,
    y=X[::-1].copy(),
)


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for cls in (_SwapSub, _Raise, _LieAboutTypes):
        monkeypatch.setattr(f"{__name__}.{cls.__name__}", cls, raising=False)
    module = __import__("sys").modules[__name__]
    monkeypatch.setitem(__import__("sys").modules, "planted_passes", module)
    for cls in (_SwapSub, _Raise, _LieAboutTypes):
        monkeypatch.setitem(TRANSFORM_PASSES, cls.name, f"planted_passes:{cls.__name__}")


def failure_of(text: str) -> Failure | None:
    module = imported(SUBTRACTS)
    assert isinstance(module, ModuleOp)
    return pass_failure(SUBTRACTS, module, PassCheck(text, Agreement.EXACT))[0]


@pytest.mark.parametrize(("name", "stage"), [("swap-sub", "values"), ("raise", "apply")])
def test_a_planted_bug_is_found(name: str, stage: str) -> None:
    failure = failure_of(name)
    assert failure is not None
    assert failure.stage == stage


def test_a_type_that_the_values_do_not_have_is_found() -> None:
    failure = failure_of("lie")
    assert failure is not None
    assert failure.stage in ("types", "verify")


def test_a_pass_that_keeps_everything_does_not_fail() -> None:
    assert failure_of("shape-inference") is None


def test_a_failing_graph_is_reduced_to_what_fails(tmp_path: Path) -> None:
    check = PassCheck("swap-sub", Agreement.EXACT)

    def fails(graph: RandomGraph) -> bool:
        return any(failure.stage == "values" for failure in pass_failures(graph, [check])[0])

    small = reduced(SUBTRACTS, fails)
    assert [node.op_type for node in small.model.graph.node] == ["Sub"]
    path = keep_case(small, Failure("c", "values", "m"), tmp_path, "sub")
    assert fails(load_case(path))
