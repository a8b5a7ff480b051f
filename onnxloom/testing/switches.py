"""Does a switch of compilation do anything for a model? A test of a switch that changes nothing is vacuous.

assert_switch_matters(model, skip_passes=("fuse-ops",))
assert_switch_matters(model, disabled_kinds=("onnx.elementwise",))
assert_switch_matters(model, opt_level=0)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from onnxloom.dialects.onnx.text import make_context
from onnxloom.lowering.build_model import artifact_of_module
from onnxloom.lowering.compile import CompileOptions
from onnxloom.lowering.optimize import optimize_module
from onnxloom.testing.models import Model, as_module
from onnxloom.testing.noop import text_of


def assert_switch_matters(model: Model, on: CompileOptions | None = None, **off: Any) -> None:
    """Compiling with the fields `off` of CompileOptions changed gives other IR, or another plan.

    `on` are the options to compare with; the default ones when left out.

    Raises:
        AssertionError: neither the module after all passes nor the program made of it is different.
        TypeError: CompileOptions has no such field, or none is given.
    """
    if not off:
        raise TypeError("no switch is given; expected fields of CompileOptions, such as skip_passes=(...)")
    with_it = replace(on or CompileOptions(), cache=False)
    without = replace(with_it, **off)
    if _optimized(model, with_it) != _optimized(model, without):
        return
    plans = [artifact_of_module(as_module(model), options) for options in (with_it, without)]
    # Symbols hold digests of the kernels.
    if plans[0].program != plans[1].program or plans[0].symbols != plans[1].symbols:
        return
    switch = ", ".join(f"{name}={value!r}" for name, value in off.items())
    raise AssertionError(f"{switch} changes neither the IR nor the plan of the model")


def _optimized(model: Model, options: CompileOptions) -> str:
    module = as_module(model)
    optimize_module(module, make_context(), options)
    return text_of(module)
