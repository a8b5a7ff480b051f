"""Which op or fused kind has a lowering? What the files of `ops/` and `kinds/` define.

`ops/*.py` hold functions marked with `@lowering(onnx.ReshapeOp, ...)`, `kinds/*.py` subclasses of
`FusedOpKindLowering`; plug-ins register theirs with `register_kind_lowering`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom import kinds, ops
from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.decline import Decline
from onnxloom.dialects.onnx import FusedOp

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


_plugin_lowerings: dict[str, type[FusedOpKindLowering[Any]]] = {}


def register_kind_lowering(lowering_class: type[FusedOpKindLowering[Any]]) -> None:
    """Makes a plug-in's lowering known; it takes the place of one for the same kind."""
    _plugin_lowerings[lowering_class.helper.kind] = lowering_class


@cache
def _own_kind_lowerings() -> dict[str, type[FusedOpKindLowering[Any]]]:
    table: dict[str, type[FusedOpKindLowering[Any]]] = {}
    for module in _modules(kinds):
        for value in vars(module).values():
            if (
                inspect.isclass(value)
                and issubclass(value, FusedOpKindLowering)
                and not inspect.isabstract(value)
                and value.__module__ == module.__name__
            ):
                table[value.helper.kind] = value
    return table


def kind_lowerings() -> dict[str, FusedOpKindLowering[Any]]:
    """Kind string -> lowering."""
    table = {**_own_kind_lowerings(), **_plugin_lowerings}
    return {kind: lowering_class() for kind, lowering_class in table.items()}
