"""Which tuned form a `loom.microkernel` has: the module of this folder named like its kind.

Such a module defines

    emit_llvm(builder: llvmlite.ir.IRBuilder, params: dict[str, Any], args: Sequence[ir.Value],
              target: CpuTarget) -> None

which emits the tile at the builder's position and leaves the builder where the code after it goes. A kind
whose ops have a `finish` takes one more argument, the `Finish` of the op or None. It
may define `supports(target: CpuTarget) -> bool`; where that is false the reference loop is emitted.
`args` are typed pointers for buffers (f16, bf16 and fp8 as integers), i64 for `index` and plain
values otherwise; `params` holds Python numbers, strings and lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, cast

from llvmlite import ir
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute

from onnxloom.errors import PassError
from onnxloom.lowering.cpu_target import CpuTarget

TunedForm = Callable[..., None]


@dataclass(frozen=True)
class Finish:
    """What happens to each element before it is stored, on vectors."""

    key: str
    """Equal for what computes the same."""
    emit: Callable[[ir.IRBuilder, Sequence[ir.Value]], ir.Value]
    """(builder, vector of elements and one of each operand) -> vector of results."""


@cache
def _module(kind: str) -> ModuleType | None:
    name = f"{__name__}.{kind}"
    return import_module(name) if kind.isidentifier() and find_spec(name) else None


def find_microkernel(kind: str, target: CpuTarget) -> TunedForm | None:
    """The tuned form of `kind` on `target`, None where the reference loop must do."""
    module = _module(kind)
    if module is None or (hasattr(module, "supports") and not module.supports(target)):
        return None
    return cast(TunedForm, module.emit_llvm)


def plain_params(params: DictionaryAttr | None) -> dict[str, Any]:
    """The parameters of a microkernel as Python values."""
    return {} if params is None else {name: _plain(value) for name, value in params.data.items()}


def _plain(attribute: Attribute) -> Any:
    if isinstance(attribute, IntegerAttr):
        return cast("IntegerAttr[Any]", attribute).value.data
    if isinstance(attribute, FloatAttr):
        return cast("FloatAttr[Any]", attribute).value.data
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, ArrayAttr):
        return [_plain(item) for item in cast("ArrayAttr[Attribute]", attribute)]
    raise PassError(f"loom.microkernel: parameter {attribute} is no number, string or list")
