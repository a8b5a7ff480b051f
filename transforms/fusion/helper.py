"""What is a fusion kind? A subclass of `FusionOpKindHelper` that says what a chain looks like.

The author writes the kind string, the anchors, the parameters as dataclass fields, how a chain is
detected, and how a body is checked against the parameters. Everything that could be got wrong about
building a fused op and reading it back is here and final.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, ClassVar, Final, Self, TypeAlias, cast, dataclass_transform, final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from onnxloom.dialects.onnx import FusedOp
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion import body as bodies
from onnxloom.transforms.fusion import build
from onnxloom.transforms.fusion.fields import parameters_of, read_fields, write_fields
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.order import BlockOrder

DimEquality: TypeAlias = tuple[int, int, int, int]
"""`(i, a, j, b)`: dim `a` of input `i` equals dim `b` of input `j`."""

_FINAL: Final = (
    "fuse",
    "retrieve_ops_and_output_values",
    "verify_and_retrieve_attrs",
    "unfuse",
    "is_inside_fused_op",
)

_REQUIRED: Final = {
    "kind": "the kind string, such as 'onnx.elementwise'",
    "anchors": "the op classes a match starts from",
    "detect_if_beneficial": "the class method that finds a chain at an anchor",
    "verify": "the check of a body against the parameters",
}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class _Frozen:
    """Makes every subclass a frozen dataclass, whether or not its author writes the decorator."""

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        dataclass(frozen=True)(cls)
        # Those of this class do; of their own, the decorator could not be written too.
        del cls.__setattr__, cls.__delattr__

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")


class FusionOpKindHelper(_Frozen):
    """One kind of fused op; an instance holds the parameters of one chain.

    Subclasses are frozen dataclasses, the parameters are their fields.
    """

    kind: ClassVar[str]
    """Dialect-prefixed, the `kind` property of the fused op."""

    anchors: ClassVar[tuple[type[Operation], ...]]
    """The op classes a match starts from."""

    max_op_count: ClassVar[int] = 64
    """The most ops one match may have."""

    benefit: ClassVar[int]
    """Higher is tried first; `max_op_count` where the class does not say: longer kinds before shorter."""

    is_abstract: ClassVar[bool] = True
    """Whether the class is only a base of kinds: `class Base(FusionOpKindHelper, abstract=True)`."""

    replaces_builtin: ClassVar[bool] = False
    """Whether a plug-in's class takes the place of onnxloom's own kind of the same name:
    `class Mine(FusionOpKindHelper, replaces_builtin=True)`."""

    dim_conditions: tuple[DimEquality, ...] = field(default=(), kw_only=True)
    """What detection proved about dynamic dims and the body relies on.

    Checked where actual sizes are known; the unfused ops run when one does not hold.
    """

    def __init_subclass__(cls, *, abstract: bool = False, replaces_builtin: bool = False, **options: Any):
        for name in _FINAL:
            if name in cls.__dict__:
                raise TypeError(f"{cls.__name__}.{name}: this method is final, a kind cannot override it")
        cls.is_abstract = abstract
        cls.replaces_builtin = replaces_builtin
        if not abstract:
            _check_members(cls)
            if "benefit" not in cls.__dict__:
                cls.benefit = cls.max_op_count
        super().__init_subclass__(**options)
        parameters_of(cls)

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        """The chain at `anchor` with the parameters filled in, or why there is none or it is not worth it.

        Never called inside a fused op.
        """
        raise NotImplementedError

    def verify(self, body: Body) -> Miss | None:
        """Checks the ops of a body against the parameters; must hold on hand-written text too.

        What holds only under `dim_conditions` may be relied on, nothing else that the types do not say.
        """
        raise NotImplementedError

    def embed_attrs(self, fused_op: FusedOp) -> None:
        """Writes the parameters to named attributes; with `retrieve_attrs` the only access to them."""
        fused_op.attributes.update(write_fields(self))

    @classmethod
    def retrieve_attrs(cls, fused_op: FusedOp) -> Self | Miss:
        """Reads the parameters back."""
        try:
            return cls(**read_fields(cls, fused_op.attributes))
        except ValueError as error:
            return Miss(str(error))

    @final
    @staticmethod
    def fuse(
        match: Match[FusionOpKindHelper], rewriter: PatternRewriter, order: BlockOrder | None = None
    ) -> FusedOp | Miss:
        """Puts a fused op in the place of the chain and replaces all its results.

        Declines when there is no place after every input and before every outside use, and when
        something outside reads a value that is not among the match's results. `order` is the position
        map of a pass that fuses many chains.
        """
        return build.build_fused_op(match, rewriter, BlockOrder() if order is None else order)

    @final
    @staticmethod
    def retrieve_ops_and_output_values(fused_op: FusedOp) -> Body:
        """The body as a chain again."""
        block = fused_op.body.block
        end = block.last_op
        assert end is not None, "a fused op's body ends with onnx.Yield"
        return Body(bodies.chain_ops(block), tuple(end.operands), block.args)

    @final
    @classmethod
    def verify_and_retrieve_attrs(cls, fused_op: FusedOp) -> tuple[Self, Body] | Miss:
        """The parameters and the body, if they are of this kind and fit each other."""
        if fused_op.kind.data != cls.kind:
            return Miss(f"the kind is {fused_op.kind.data!r}; expected {cls.kind!r}")
        body = cls.retrieve_ops_and_output_values(fused_op)
        if not body.ops or not body.results:
            return Miss("the body computes nothing")
        ops = set(body.ops)
        if any(result.owner not in ops for result in body.results):
            return Miss("a yielded value is not made by an op of the chain")
        helper = cls.retrieve_attrs(fused_op)
        if isinstance(helper, Miss):
            return helper
        for i, a, j, b in helper.dim_conditions:
            if not (_has_dim(body, i, a) and _has_dim(body, j, b)):
                return Miss(f"dim condition {(i, a, j, b)} names a dim that no input has")
        problem: Any = helper.verify(body)
        if problem is not None and not isinstance(problem, Miss):
            raise TypeError(
                f"verify gives a {type(problem).__name__}; expected a Miss, or None if all is well"
            )
        return (helper, body) if problem is None else problem

    @final
    @staticmethod
    def unfuse(rewriter: PatternRewriter, fused_op: FusedOp) -> None:
        """Inlines the body back."""
        build.unfuse(rewriter, fused_op)

    @final
    @staticmethod
    def is_inside_fused_op(op: Operation) -> bool:
        """Whether a fused op holds `op`, at any depth."""
        parent = op.parent_op()
        while parent is not None:
            if isinstance(parent, FusedOp):
                return True
            parent = parent.parent_op()
        return False


def _has_dim(body: Body, index: int, axis: int) -> bool:
    if not 0 <= index < len(body.inputs):
        return False
    type_ = body.inputs[index].type
    return isinstance(type_, TensorType) and 0 <= axis < type_.get_num_dims()


def _check_members(cls: type[FusionOpKindHelper]) -> None:
    for name, what in _REQUIRED.items():
        if getattr(cls, name, None) is getattr(FusionOpKindHelper, name, None) or _is_base_method(cls, name):
            raise TypeError(f"{cls.__name__}: a fusion kind must define {name!r}, {what}")
    if not isinstance(cast(object, cls.kind), str) or "." not in cls.kind:
        raise TypeError(f"{cls.__name__}.kind is {cls.kind!r}; expected a string such as 'onnx.elementwise'")
    anchors = cast(object, cls.anchors)
    if not isinstance(anchors, tuple) or not anchors or not all(map(_is_op_class, cast(Any, anchors))):
        raise TypeError(f"{cls.__name__}.anchors must be a non-empty tuple of op classes")
    if not isinstance(cast(object, cls.max_op_count), int) or cls.max_op_count < 1:
        raise TypeError(f"{cls.__name__}.max_op_count must be a positive integer")


def _is_base_method(cls: type[FusionOpKindHelper], name: str) -> bool:
    """A bound class method differs from the base's as an object; its function does not."""
    own = getattr(getattr(cls, name), "__func__", None)
    return own is not None and own is getattr(getattr(FusionOpKindHelper, name, None), "__func__", None)


def _is_op_class(candidate: object) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, Operation)
