"""What is a layout rule? It says which ops of a family can work channels-last, and rewrites them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from xdsl.ir import Operation, SSAValue

from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex

if TYPE_CHECKING:
    from onnxloom.transforms.layout.editor import LayoutEditor


@dataclass(frozen=True)
class Follow:
    """What an op reads and gives channels-last when it works channels-last."""

    reads: tuple[SSAValue, ...]
    """Operands read channels-last; all others are read as they are, or adapted by the rule."""

    gives: tuple[SSAValue, ...]
    """Results whose channels-last twin the op gives in their place; all others stay what they are."""

    saves: float = 0.0
    """Nanoseconds that the op itself takes less."""

    absorbs: tuple[Operation, ...] = ()
    """Further ops that the rewritten op does the work of."""


class LayoutRule(ABC):
    """Rewrites the ops of one family."""

    ops: ClassVar[tuple[type[Operation], ...]]
    """The op classes it is asked about."""

    min_opset: ClassVar[int] = 1
    """Version of the default domain that the rewritten ops need."""

    @abstractmethod
    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        """What the op would read and give; or why it cannot work channels-last. Changes nothing.

        Of values that turn out to have no layout nothing is asked further, whatever the rule says.
        """

    @abstractmethod
    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        """Makes ops that read `editor.last(...)`, and hands the results to `editor.give(...)`."""
