"""The ops that hold a program together: terminators, absent values, dims, the entry point, foreign ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    NoneType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx.attributes import int_value
from onnxloom.dialects.onnx.constraints import INT_ATTR
from onnxloom.dialects.onnx.narrow import compatible, is_int_attr, is_ranked
from onnxloom.dialects.onnx.op import NonDeterministic, OnnxOp, onnx_op


@onnx_op(since_version=1)
class YieldOp(OnnxOp):
    """Ends the region of a control-flow or fused op and gives its results."""

    name = "onnx.Yield"

    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])

    @classmethod
    def parse(cls, parser: Parser) -> YieldOp:
        """`onnx.Yield %y : tensor<2xf32>`, as some tools write it; printed in the generic form."""
        attributes = parser.parse_optional_attr_dict()
        start = parser.pos
        names = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        if not names:
            return cls.create(attributes=attributes)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.create(operands=parser.resolve_operands(names, types, start), attributes=attributes)


@onnx_op(since_version=1)
class ReturnOp(OnnxOp):
    """Ends a function: `onnx.Return %y : tensor<2xf32>`."""

    name = "onnx.Return"

    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])

    def verify_(self) -> None:
        """A returned type may be more precise than the function says, but not another one."""
        function = self.parent_op()
        if not isinstance(function, FuncOp):
            raise VerifyException("stands outside a function; expected to end one")
        expected = function.function_type.outputs.data
        if len(expected) != len(self.operands):
            raise VerifyException(f"returns {len(self.operands)} values; expected {len(expected)}")
        for index, (operand, result_type) in enumerate(zip(self.operands, expected, strict=True)):
            if not compatible(operand.type, result_type):
                raise VerifyException(
                    f"operand {index} has type {operand.type}; expected {result_type} as the function says"
                )


@onnx_op(since_version=1)
class NoValueOp(OnnxOp):
    """Stands for an optional input that is left out."""

    name = "onnx.NoValue"

    value = opt_prop_def(UnitAttr)
    none_val = result_def(NoneType)
    traits = traits_def(Pure())

    @staticmethod
    def make() -> NoValueOp:
        return NoValueOp.create(result_types=[NoneType()], properties={"value": UnitAttr()})


@onnx_op(since_version=1)
class DimOp(OnnxOp):
    """One dim of a tensor as a one-element tensor: Shape followed by a static Gather."""

    name = "onnx.Dim"

    data = operand_def()
    dim = result_def()
    axis = opt_prop_def(INT_ATTR, int_value(0))
    traits = traits_def(Pure())

    @staticmethod
    def make(data: SSAValue, axis: int) -> DimOp:
        return DimOp.create(
            operands=[data], result_types=[TensorType(i64, [1])], properties={"axis": int_value(axis)}
        )

    def verify_(self) -> None:
        if self.dim.type != TensorType(i64, [1]):
            raise VerifyException(f"result dim has type {self.dim.type}; expected tensor<1xi64>")
        data_type = self.data.type
        if not is_ranked(data_type):
            return
        rank = data_type.get_num_dims()
        axis = self.axis
        if is_int_attr(axis) and not 0 <= axis.value.data < rank:
            raise VerifyException(f"axis is {axis.value.data}; expected 0 to {rank - 1} for {data_type}")


@onnx_op(since_version=1)
class EntryPointOp(OnnxOp):
    """Names the function a session runs."""

    name = "onnx.EntryPoint"

    func = prop_def(SymbolRefAttr)


@onnx_op(since_version=1)
class CustomOp(OnnxOp):
    """An op of a domain that is not the standard's.

    Its own attributes are discardable attributes under their own names; graphs are regions, named in
    order by `graph_names`.
    """

    name = "onnx.Custom"

    inputs = var_operand_def()
    outputs = var_result_def()
    function_name = prop_def(StringAttr)
    domain_name = opt_prop_def(StringAttr, StringAttr(""))
    graph_names = opt_prop_def(Attribute)
    graphs = var_region_def("single_block")
    # Nobody here knows what it does: unused ones go, equal ones are not merged.
    traits = traits_def(NonDeterministic())

    @staticmethod
    def make(
        domain: str,
        name: str,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute],
        graphs: Mapping[str, Region] | None = None,
    ) -> CustomOp:
        graphs = graphs or {}
        properties: dict[str, Attribute] = {
            "domain_name": StringAttr(domain),
            "function_name": StringAttr(name),
        }
        if graphs:
            properties["graph_names"] = ArrayAttr([StringAttr(graph) for graph in graphs])
        return CustomOp.create(
            operands=operands,
            result_types=result_types,
            properties=properties,
            attributes=attributes,
            regions=list(graphs.values()),
        )
