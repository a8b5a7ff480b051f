"""How far is every value of a compiled model from the reference?

The outputs are compared with those of the model before any pass. An inner value is compared with what the
optimized module gives for it on the host: that is the same value for certain, whatever passes did. Another
witness (onnxruntime, level 0) runs the model before the passes; there a value is found again by node name and
op, and left out where the host says that a pass has given it another meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from onnxloom.dialects.onnx.text import make_context
from onnxloom.lowering.compile import compile_model
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.lowering.optimize import optimize_module
from onnxloom.testing.difference import difference
from onnxloom.testing.tolerance import Tolerance
from onnxloom.tools.numerics.all_values import Origins, add_outputs, inner_values
from onnxloom.tools.numerics.error_table import Row, row_of
from onnxloom.tools.numerics.subject import Subject
from onnxloom.tools.numerics.witnesses import WITNESSES, run_compiled, without_warnings


def compare_outputs(subject: Subject, against: str, tolerance: Tolerance) -> list[Row]:
    """The outputs of the model as a session runs it."""
    want = WITNESSES[against](subject, subject.module)
    with without_warnings():
        got: Mapping[str, Any] = compile_model(subject.path, subject.options).run(subject.feeds)
    return [row_of(f"output {name}", value, got.get(name), tolerance) for name, value in want.items()]


def compare_all(subject: Subject, against: str, tolerance: Tolerance) -> list[Row]:
    """Outputs and inner values of the optimized module, compiled so that they all can be seen."""
    module = subject.module.clone()
    origins = Origins(module)
    with without_warnings():
        optimize_module(module, make_context(), subject.options)
    inner = inner_values(module)
    names = add_outputs(module, [value.value for value in inner])
    titles = dict(zip(names, (value.title for value in inner), strict=True))
    host = evaluate_module(module, subject.feeds)
    # The passes have run: once more, they would not see every value any more.
    got = run_compiled(module, subject.feeds, replace(subject.options, opt_level=0))
    want = WITNESSES[against](subject, subject.module)
    if against == "reference":
        want.update((name, host[name]) for name in names)
    else:
        origin_of = {name: origins.of(value) for name, value in zip(names, inner, strict=True)}
        found = {name: origin for name, origin in origin_of.items() if origin is not None}
        want.update(_found_again(subject, origins.copy, found, host, against, tolerance))
    return [
        row_of(titles.get(name, f"output {name}"), value, got.get(name), tolerance)
        for name, value in want.items()
    ]


def _found_again(
    subject: Subject,
    before: ModuleOp,
    origins: Mapping[str, SSAValue],
    host: Mapping[str, Any],
    against: str,
    tolerance: Tolerance,
) -> dict[str, Any]:
    """What the witness gives for values of the module before the passes, by the names they have after."""
    names = dict(zip(origins, add_outputs(before, list(origins.values())), strict=True))
    untouched = evaluate_module(before, subject.feeds)
    seen = WITNESSES[against](subject, before)
    return {
        after: seen[name]
        for after, name in names.items()
        if difference(name, untouched[name], host[after], tolerance) is None
    }
