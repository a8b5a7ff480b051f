"""Which op or fused kind has a lowering? What the files of `ops/` and `kinds/` define.

`ops/*.py` hold functions marked with `@lowering(onnx.ReshapeOp, ...)`, `kinds/*.py` subclasses of
`FusedOpKindLowering`, and so do the plug-ins of the fusion registry in use.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom import kinds, ops
from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.decline import Decline
from onnxloom.dialects.custom_ops import custom_op
from onnxloom.dialects.onnx import CustomOp, FusedOp
from onnxloom.errors import PassError
from onnxloom.transforms.fusion.plugins import current_registry

if TYPE_CHECKING:
    from onnxloom.transforms.fusion.helper import FusionOpKindHelper

Inputs: TypeAlias = Sequence[SSAValue | None]
"""Program-level tensors, None for an omitted optional input."""

LowerOp: TypeAlias = Callable[[Any, Inputs, KernelBuilder], Sequence[SSAValue] | Decline]

HelperT = TypeVar("HelperT", bound="FusionOpKindHelper")


class FusedOpKindLowering(ABC, Generic[HelperT]):
    """Lowers the fused ops of one kind; an instance is made once per conversion."""

    helper: ClassVar[type[FusionOpKindHelper]]
    """The kind; its `verify_and_retrieve_attrs` is called before `lower_verified`."""

    def relies_on_dim_conditions(self, fused_op: FusedOp, helper: HelperT) -> bool:
        """Whether the kernels are wrong where the helper's `dim_conditions` do not hold.

        If so, each shape key for which one fails runs the unfused ops.
        """
        return bool(helper.dim_conditions)

    @abstractmethod
    def lower_verified(
        self, fused_op: FusedOp, helper: HelperT, inputs: Sequence[SSAValue], builder: KernelBuilder
    ) -> Sequence[SSAValue]:
        """The results as program-level tensors. Raises Declined where there is no kernel."""


@dataclass(frozen=True)
class OpLowering:
    """A function that lowers single ops of some classes."""

    op_classes: tuple[type[Operation], ...]
    lower: LowerOp


def lowering(*op_classes: type[Operation]) -> Callable[[LowerOp], OpLowering]:
    """Marks `lower(op, inputs, builder) -> results | Decline` as the lowering of these ops."""
    return lambda function: OpLowering(op_classes, function)


@dataclass(frozen=True)
class CustomLowering:
    """A function that lowers ops of a domain that is not the standard's."""

    domain: str
    name: str
    lower: LowerOp


def custom_lowering(domain: str, name: str) -> Callable[[LowerOp], CustomLowering]:
    """Marks `lower(op, inputs, builder) -> results | Decline` as the lowering of an `onnx.Custom` op."""
    return lambda function: CustomLowering(domain, name, function)


def _modules(package: ModuleType) -> list[ModuleType]:
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__))
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


@cache
def op_lowerings() -> dict[type[Operation], LowerOp]:
    """Op class -> lowering, from the files of `ops/`."""
    table: dict[type[Operation], LowerOp] = {}
    for module in _modules(ops):
        for value in vars(module).values():
            if isinstance(value, OpLowering):
                table.update(dict.fromkeys(value.op_classes, value.lower))
    return table


@cache
def custom_lowerings() -> dict[tuple[str, str], LowerOp]:
    """(domain, name) -> lowering, from the files of `ops/`."""
    values = [v for module in _modules(ops) for v in vars(module).values()]
    return {(v.domain, v.name): v.lower for v in values if isinstance(v, CustomLowering)}


def is_run_by_caller(op: Operation) -> bool:
    """Whether a function of the caller's was registered for an op."""
    return isinstance(op, CustomOp) and custom_op(op.domain_name.data, op.function_name.data) is not None


def lowering_of(op: Operation) -> LowerOp | None:
    """The lowering of a single op, None if it has none of its own."""
    if isinstance(op, CustomOp):
        if is_run_by_caller(op):
            return None
        return custom_lowerings().get((op.domain_name.data, op.function_name.data))
    return op_lowerings().get(type(op))


@cache
def _own_kind_lowerings() -> dict[str, type[FusedOpKindLowering[Any]]]:
    return _lowerings_in(_modules(kinds))


def _lowerings_in(modules: Iterable[ModuleType]) -> dict[str, type[FusedOpKindLowering[Any]]]:
    """Kind string -> lowering class that a module or package defines itself.

    Raises:
        PassError: a class that nothing derives from lacks what a lowering must have.
    """
    table: dict[str, type[FusedOpKindLowering[Any]]] = {}
    for module in modules:
        classes = [value for value in vars(module).values() if _is_own_lowering(value, module)]
        for value in classes:
            lacks = _lacks(value)
            if not lacks:
                table[value.helper.kind] = value
            elif not any(other is not value and issubclass(other, value) for other in classes):
                raise PassError(f"{module.__file__}: lowering {value.__name__} lacks {' and '.join(lacks)}")
    return table


def _is_own_lowering(candidate: Any, module: ModuleType) -> bool:
    """Whether a lowering is defined in the module or package, not just imported there."""
    if not (inspect.isclass(candidate) and issubclass(candidate, FusedOpKindLowering)):
        return False
    return f"{candidate.__module__}.".startswith(f"{module.__name__}.")


def _lacks(candidate: type[FusedOpKindLowering[Any]]) -> list[str]:
    """What a lowering must define and does not."""
    missing: list[str] = sorted(getattr(candidate, "__abstractmethods__", ()))
    if not isinstance(getattr(getattr(candidate, "helper", None), "kind", None), str):
        missing.insert(0, "helper (the class of the kind it lowers)")
    return missing


def kind_lowerings() -> dict[str, FusedOpKindLowering[Any]]:
    """Kind string -> lowering; one of a plug-in takes the place of our own for the same kind."""
    table = {**_own_kind_lowerings(), **_lowerings_in(current_registry().plugins)}
    return {kind: lowering_class() for kind, lowering_class in table.items()}
