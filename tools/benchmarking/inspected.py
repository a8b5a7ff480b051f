"""A compiled model together with the IR of its kernels, for those who count what they do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from onnxloom.errors import InputError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from onnxloom.dialects.loom import KernelOp
    from onnxloom.lowering.compile import CompileOptions
    from onnxloom.lowering.runtime.model import CompiledModel

_LAYOUT = frozenset({"Transpose", "Constant", "NoValue"})


@dataclass(frozen=True)
class Inspected:
    """`kernels` grows when the model is compiled again for shapes that it meets."""

    model: CompiledModel
    kernels: dict[str, KernelOp]


def compile_inspected(source: Any, options: CompileOptions) -> Inspected:
    """Compiles as `compile_model` does, with a look at the kernels.

    Raises:
        InputError: `source` is a compiled file, which has machine code only. And what `compile_model` raises.
    """
    from onnxloom.dialects.loom import KernelOp
    from onnxloom.lowering.artifact.container import is_artifact
    from onnxloom.lowering.compile import compile_model

    if is_artifact(source):
        raise InputError(f"{source}: is a compiled model; expected the one it was compiled from")
    kernels: dict[str, KernelOp] = {}

    def observe(module: ModuleOp) -> None:
        found = [op for op in module.ops if isinstance(op, KernelOp)]
        kernels.update((op.sym_name.data, op) for op in found)

    return Inspected(compile_model(source, replace(options, observe=observe)), kernels)


def short_origin(origin: str) -> str:
    """What an op is called, without constants that a fused op took along, and Transposes without a name."""
    parts = origin.split(" + ")
    kept = [part for part in parts if part not in _LAYOUT and not part.startswith('Constant "')]
    return " + ".join(kept or parts[-1:])
