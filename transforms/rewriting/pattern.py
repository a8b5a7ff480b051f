"""What is a rewrite pattern? A subclass of `PatternOptimization` that finds a place and says what goes there.

`match` looks and changes nothing; `apply` builds and attaches nothing. Everything in between (which
matches may go together, where ops are put, what is removed) is the driver's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from xdsl.ir import Operation, SSAValue

from onnxloom.transforms.miss import Miss, no_match

if TYPE_CHECKING:
    from onnxloom.transforms.rewriting.graph_index import GraphIndex

__all__ = ["MatchResult", "Miss", "Numerics", "PatternOptimization", "Replacement", "Stage", "no_match"]


class Numerics(Enum):
    """What a rewrite may change about the values of a model."""

    EXACT = "exact"
    """Nothing: the same bits."""

    TOLERANCE = "tolerance"
    """Arithmetic is re-associated or rounded elsewhere."""

    LOWERS = "lowers"
    """Something is rounded to a narrower type on purpose; only when asked for by name."""


class Stage(Enum):
    """When in a pipeline a pattern runs."""

    CONTRIBUTED = "contributed_ops"
    """At every level, once shapes are inferred: ops of onnxruntime's own that would not run as they are."""

    BEFORE_SHAPE_INFERENCE = "before_shape_inference"
    AFTER_SHAPE_INFERENCE = "after_shape_inference"
    AFTER_BUILTIN_PATTERNS = "after_builtin_patterns"
    BEFORE_FUSION = "before_fusion"
    AFTER_FUSION = "after_fusion"


@dataclass(frozen=True)
class MatchResult:
    """A place to rewrite; nothing is decided after this, only built."""

    ops: tuple[Operation | None, ...]
    """The ops that are replaced, all of one block; None keeps the places of optional parts."""

    reads: tuple[Operation, ...] = ()
    """Ops the match relies on and that stay, such as a shared producer; removed when nothing reads them."""

    insert_at: Operation | None = None
    """What is built goes in front of this op; the last of `ops` when left out."""

    data: Any = None
    """What `match` found out and `apply` needs. It belongs here: a pattern holds no state."""

    comment: str = ""


@dataclass(frozen=True)
class Replacement:
    """What goes to the place of a match."""

    ops: Sequence[Operation]
    """Detached, a producer before its readers."""

    values: Mapping[SSAValue, SSAValue]
    """Results of the replaced ops -> what their readers get: every one that is read from outside."""


_HOOKS: Final = {
    "match": "the method that finds a place: match(self, graph, op) -> MatchResult or no_match(op, reason)",
    "apply": "the method that builds what goes there: apply(self, graph, match) -> Replacement",
}


class PatternOptimization:
    """One rewrite. The driver makes one object of each class; nothing is stored on it."""

    name: ClassVar[str]
    """Stable, for selection and reports; the class's name without `Pattern` where left out."""

    priority: ClassVar[int] = 1
    """Lower is tried first; higher ones wait until no lower one matches any more."""

    min_opset: ClassVar[int] = 1
    """The opset of the default domain that the result needs."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = ()
    """The op classes a match starts from; empty for all. Foreign ops are `onnx.CustomOp`."""

    numerics: ClassVar[Numerics] = Numerics.EXACT
    stage: ClassVar[Stage] = Stage.AFTER_SHAPE_INFERENCE

    default: ClassVar[bool] = True
    """False: runs only when selected by name."""

    adds_ops: ClassVar[str] = ""
    """Why the result may have more ops than what it replaces; shown with the rewrite."""

    is_abstract: ClassVar[bool] = True
    """Whether the class is only a base of patterns: `class Base(PatternOptimization, abstract=True)`."""

    replaces_builtin: ClassVar[bool] = False
    """Whether a plug-in's pattern takes the place of onnxloom's own pattern of the same name."""

    def __init_subclass__(cls, *, abstract: bool = False, replaces_builtin: bool = False, **options: Any):
        super().__init_subclass__(**options)
        cls.is_abstract = abstract
        cls.replaces_builtin = replaces_builtin
        if abstract:
            return
        if "name" not in cls.__dict__:
            cls.name = cls.__name__.removesuffix("Pattern")
        _check_class(cls)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        """The place to rewrite that starts at `op`, or why there is none. Must not change anything."""
        raise NotImplementedError

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        """Builds what takes the place of a match. Must not attach anything."""
        raise NotImplementedError


def _check_class(cls: type[PatternOptimization]) -> None:
    """Raises TypeError or ValueError, with what to write instead, for a pattern that cannot work."""
    for hook, what in _HOOKS.items():
        if getattr(cls, hook) is getattr(PatternOptimization, hook):
            raise TypeError(f"{cls.__name__}: a pattern must define {hook!r}, {what}")
    name = cast(object, cls.name)
    if not isinstance(name, str) or not name:
        raise TypeError(f"{cls.__name__}.name is {name!r}; expected a non-empty string")
    if any(character in name for character in "*?[],") or any(character.isspace() for character in name):
        raise ValueError(f"{cls.__name__}.name is {name!r}; expected no spaces, commas or glob characters")
    for field, least in (("priority", 0), ("min_opset", 1)):
        number = cast(object, getattr(cls, field))
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"{cls.__name__}.{field} is {number!r}; expected an integer")
        if number < least:
            raise ValueError(f"{cls.__name__}.{field} is {number}; expected {least} or more")
    starts = cast(object, cls.start_ops)
    if not isinstance(starts, tuple) or not all(map(_is_op_class, cast(Any, starts))):
        raise TypeError(
            f"{cls.__name__}.start_ops is {starts!r}; expected a tuple of op classes such as (onnx.CastOp,)"
        )
    for field, kind in (("numerics", Numerics), ("stage", Stage)):
        found = cast(object, getattr(cls, field))
        if not isinstance(found, kind):
            choices = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
            raise TypeError(f"{cls.__name__}.{field} is {found!r}; expected one of {choices}")
    if not isinstance(cast(object, cls.default), bool):
        raise TypeError(f"{cls.__name__}.default is {cls.default!r}; expected True or False")
    if not isinstance(cast(object, cls.adds_ops), str):
        raise TypeError(f"{cls.__name__}.adds_ops is {cls.adds_ops!r}; expected a sentence")


def _is_op_class(candidate: object) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, Operation)
