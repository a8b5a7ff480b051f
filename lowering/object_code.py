"""How do LLVM functions become object code? One module, one run of the optimiser, one object for all of them.

llvmlite (the LLVM of Numba) does all of it: a Numba-jitted entry around the functions costs its import, the
typing of the entry and a second run of the optimiser, together more than the kernels of most models.

The pipeline is that of kernels. Loops are vectorised and interleaved. They are not unrolled beyond that:
tuned tiles (`loom.microkernel`) are emitted unrolled as far as it pays, and unrolling everything else gains
no time and doubles the code and the time to generate it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import llvmlite.binding as llvm
from llvmlite import ir

from onnxloom.lowering.cpu_target import CpuTarget


def compile_object(
    symbols: Sequence[str],
    add_functions: Callable[[ir.Module], None],
    target: CpuTarget | None = None,
    *,
    quick: bool = False,
) -> bytes:
    """Object code of the functions `add_functions` puts into a module, for `target` (this processor if None).

    `symbols` names those the object must export. If `quick`, LLVM does not optimize.
    """
    target = target or CpuTarget.host()
    module = ir.Module("kernels")
    module.triple = target.triple
    add_functions(module)
    missing = [symbol for symbol in symbols if symbol not in module.globals]
    if missing:
        raise AssertionError(f"no function defines {', '.join(missing)}")
    machine = target.machine(jit=True, quick=quick)
    # A context of its own: what LLVM makes for this module goes with it.
    parsed = llvm.parse_assembly(str(module), llvm.create_context())
    optimize(parsed, machine, quick=quick)
    return machine.emit_object(parsed)


def optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, *, quick: bool = False) -> None:
    """Runs the optimiser over a module."""
    level = 0 if quick else 1  # 2 and 3 give no faster kernels
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = True
    options.loop_interleaving = True
    options.loop_unrolling = False
    options.slp_vectorization = False
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
