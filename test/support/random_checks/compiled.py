"""Do compiled models give what their graphs give? Many graphs share one run of the code generator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from random_graphs import RandomGraph
from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_import import import_model
from onnxloom.conversion.onnx_to_loom.convert import ConvertOnnxToLoomPass
from onnxloom.dialects import loom
from onnxloom.dialects.onnx.text import make_context
from onnxloom.lowering.cache import KernelCache
from onnxloom.lowering.compile import CompileOptions, compile_module
from onnxloom.lowering.compile_kernels import compile_missing, kernel_digest
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.optimize import optimize_module
from random_checks.compare import Agreement, value_failure
from random_checks.failure import Failure

LEVELS = (0, 3)

Lowered = tuple[RandomGraph, int, ModuleOp]
"""A graph, the level it was compiled at, and its kernels and program."""


def compiled_failures(graphs: Sequence[RandomGraph], levels: Sequence[int] = LEVELS) -> list[list[Failure]]:
    """What goes wrong with each graph. The kernels of all are compiled in one go."""
    failures: list[list[Failure]] = [[] for _ in graphs]
    lowered: list[tuple[int, Lowered]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index, graph in enumerate(graphs):
            for level in levels:
                found = _lowered(graph, level)
                if isinstance(found, Failure):
                    failures[index].append(found)
                else:
                    lowered.append((index, (graph, level, found)))
        compile_together([module for _, (_, _, module) in lowered])
        for index, (graph, level, module) in lowered:
            failure = _run(graph, level, module)
            failures[index] += [failure] if failure is not None else []
    return failures


def _title(level: int) -> str:
    return f"compiled O{level}"


def _lowered(graph: RandomGraph, level: int) -> ModuleOp | Failure:
    tiles = CpuTarget.host().tiles
    conversion = ConvertOnnxToLoomPass(tiles.vector_bytes, tiles.vector_registers, tiles.dot_bytes)
    try:
        module = import_model(graph.model)
        optimize_module(module, make_context(), CompileOptions(opt_level=level, strict=True))
        conversion.apply(make_context(), module)
    except Exception as error:
        return Failure.of(_title(level), "convert", error)
    return module


def compile_together(modules: Sequence[ModuleOp]) -> None:
    """Puts the machine code of all kernels into the cache, where each model then finds its own."""
    kernels: dict[str, Any] = {}
    for module in modules:
        for op in module.ops:
            if isinstance(op, loom.KernelOp):
                kernels.setdefault(kernel_digest(op), op)
    cache = KernelCache.default()
    found = cache.find(list(kernels))
    missing = {digest: kernel for digest, kernel in kernels.items() if digest not in found}
    if not missing:
        return
    try:
        cache.store(list(missing), compile_missing(missing))
    except Exception:
        return  # each model compiles its own, and the one at fault is named


def _run(graph: RandomGraph, level: int, module: ModuleOp) -> Failure | None:
    name = _title(level)
    try:
        model = compile_module(module, CompileOptions(opt_level=level))
    except Exception as error:
        return Failure.of(name, "compile", error)
    try:
        got = model.run(dict(graph.feeds))
    except Exception as error:
        return Failure.of(name, "run", error)
    return value_failure(name, graph, got, Agreement.ROUNDING)
