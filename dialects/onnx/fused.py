"""`onnx.FusedOp`: a chain of ops captured as one, to be lowered as one kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import prop_def, region_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx.op import OnnxOp, onnx_op
from onnxloom.dialects.onnx.structure import YieldOp


@onnx_op(since_version=1)
class FusedOp(OnnxOp):
    """Runs its body on its inputs; `kind` and the named attributes say how it may be lowered."""

    name = "onnx.FusedOp"

    inputs = var_operand_def()
    outputs = var_result_def()
    kind = prop_def(StringAttr)
    body = region_def()
    traits = traits_def(Pure(), IsolatedFromAbove())

    @staticmethod
    def make(
        kind: str,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body: Block,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> FusedOp:
        return FusedOp.create(
            operands=inputs,
            result_types=result_types,
            properties={"kind": StringAttr(kind)},
            attributes=attributes or {},
            regions=[Region(body)],
        )

    def verify(self, verify_nested_ops: bool = True) -> None:
        try:
            self._verify_body()
        except VerifyException as error:
            self.emit_error("", error)
        super().verify(verify_nested_ops)

    def _verify_body(self) -> None:
        if len(self.regions) != 1:
            raise VerifyException(f"has {len(self.regions)} regions; expected one, its body")
        if len(self.body.blocks) != 1:
            raise VerifyException(f"the body has {len(self.body.blocks)} blocks; expected one")
        block = self.body.block
        end = block.last_op
        if end is None:
            raise VerifyException("the body is empty; expected ops ended by onnx.Yield")
        if not isinstance(end, YieldOp):
            raise VerifyException(f"the body ends with {end.name}; expected onnx.Yield")
        if block.first_op is end:
            raise VerifyException("the body only yields; expected at least one op")
        self._verify_types("input", self.operand_types, "block argument", block.arg_types)
        self._verify_types("result", self.result_types, "yielded value", end.operand_types)
        self._verify_isolated()

    def _verify_types(
        self, what: str, outer: Sequence[Attribute], inner_what: str, inner: Sequence[Attribute]
    ) -> None:
        if len(outer) != len(inner):
            raise VerifyException(f"{len(outer)} {what}s but {len(inner)} {inner_what}s; expected as many")
        for index, (outer_type, inner_type) in enumerate(zip(outer, inner, strict=True)):
            if outer_type != inner_type:
                raise VerifyException(
                    f"{inner_what} {index} has type {inner_type}; expected {outer_type} like {what} {index}"
                )

    def _verify_isolated(self) -> None:
        for op in self.body.walk():
            for operand in op.operands:
                owner = operand.owner
                inside = owner.parent_op() if isinstance(owner, Block) else owner
                if inside is None or not self.is_ancestor(inside):
                    name = f" %{operand.name_hint}" if operand.name_hint else " a value"
                    raise VerifyException(
                        f"{op.name} in the body uses{name} from outside; expected a block argument"
                    )
