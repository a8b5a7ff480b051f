"""Do the checked-in op classes say what the schemas of the installed `onnx` say?"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import onnx
import pytest
from onnx import defs
from xdsl.dialects.builtin import TensorType, UnrankedTensorType, f32
from xdsl.ir import Attribute
from xdsl.irdl import OptPropertyDef, VarOperandDef, VarResultDef
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from onnxloom.dialects import onnx as dialect
from onnxloom.dialects.onnx.attributes import string_value
from onnxloom.dialects.onnx.constraints import TypeSet
from onnxloom.dialects.onnx.element_types import ELEMENT_TYPES
from onnxloom.tools import gen_onnx_ops

GENERATED_FROM = (gen_onnx_ops.OUTPUT / "type_sets.py").read_text().split("schemas of onnx ")[1].split(":")[0]
SAME_ONNX = pytest.mark.skipif(
    onnx.__version__ != GENERATED_FROM, reason=f"the files were generated from onnx {GENERATED_FROM}"
)
SCHEMAS = {(s.domain, s.name): s for s in gen_onnx_ops.latest_schemas()}
OPS = sorted(dialect.OPS_BY_NAME.items())
Kind = defs.OpSchema.FormalParameterOption


@SAME_ONNX
def test_generated_files_are_what_the_generator_writes():
    command = [sys.executable, "-m", "onnxloom.tools.gen_onnx_ops", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@SAME_ONNX
def test_every_op_of_every_domain_has_a_class():
    assert set(dialect.OPS_BY_NAME) == set(SCHEMAS)
    assert sum(domain == "" for domain, _ in dialect.OPS_BY_NAME) == 203


def test_textual_names_are_unique():
    names = [op.name for op in dialect.ONNX.operations]
    assert len(names) == len(set(names))


@SAME_ONNX
@pytest.mark.parametrize(("key", "op"), OPS, ids=[op.name for _, op in OPS])
def test_class_has_operands_results_attributes_and_version_of_the_schema(key: tuple[str, str], op: Any):
    schema = SCHEMAS[key]
    definition = op.get_irdl_definition()
    assert (op.domain, op.onnx_name, op.name) == (schema.domain, schema.name, f"onnx.{schema.name}")
    assert op.since_version == schema.since_version
    if op is dialect.ConstantOp:
        return
    assert [name for name, _ in definition.operands] == [formal.name for formal in schema.inputs]
    assert [name for name, _ in definition.results] == [formal.name for formal in schema.outputs]
    graphs = {a.name for a in schema.attributes.values() if a.type == defs.OpSchema.AttrType.GRAPH}
    assert {name for name, _ in definition.regions} == graphs
    assert list(definition.properties) == sorted(set(schema.attributes) - graphs)
    for formal, (_, operand) in zip(schema.inputs, definition.operands, strict=True):
        assert isinstance(operand, VarOperandDef) == (formal.option == Kind.Variadic)
    for formal, (_, result) in zip(schema.outputs, definition.results, strict=True):
        assert isinstance(result, VarResultDef) == (formal.option == Kind.Variadic)


@SAME_ONNX
@pytest.mark.parametrize(("key", "op"), OPS, ids=[op.name for _, op in OPS])
def test_attribute_defaults_are_those_of_the_schema(key: tuple[str, str], op: Any):
    for name, definition in op.get_irdl_definition().properties.items():
        attribute = SCHEMAS[key].attributes[name]
        assert isinstance(definition, OptPropertyDef) == (not attribute.required)
        default = attribute.default_value
        value = definition.default_value
        match default.type:
            case onnx.AttributeProto.INT:
                assert value.value.data == default.i
            case onnx.AttributeProto.FLOAT:
                assert value.value.data == default.f
            case onnx.AttributeProto.STRING:
                assert value.data.encode() == default.s
            case onnx.AttributeProto.INTS:
                assert [e.value.data for e in value.data] == list(default.ints)
            case onnx.AttributeProto.FLOATS:
                assert [e.value.data for e in value.data] == list(default.floats)
            case onnx.AttributeProto.STRINGS:
                assert [e.data.encode() for e in value.data] == list(default.strings)
            case _:
                assert value is None


def constraint(definition: Any) -> TypeSet:
    found = definition.constr.constraint.constr  # of a range of length one
    assert isinstance(found, TypeSet)
    return found


SIMPLE = [
    op
    for _, op in OPS
    if not op.get_irdl_definition().regions
    and op is not dialect.ConstantOp
    and not any(
        isinstance(d, VarOperandDef | VarResultDef)
        for _, d in (*op.get_irdl_definition().operands, *op.get_irdl_definition().results)
    )
    and all(isinstance(p, OptPropertyDef) for p in op.get_irdl_definition().properties.values())
    and all(constraint(d).elements for _, d in op.get_irdl_definition().operands)
    and all(constraint(d).elements for _, d in op.get_irdl_definition().results)
]


def build(op: Any, wrong: int | None = None) -> Any:
    """An op on unranked tensors of an allowed element type; operand `wrong` gets a type not allowed."""
    bound: dict[str, Attribute] = {}

    def pick(definition: Any) -> Attribute:
        allowed = constraint(definition)
        element = f32 if f32 in allowed.elements else min(allowed.elements, key=str)
        if allowed.parameter is not None:
            element = bound.setdefault(allowed.parameter, element)
        return UnrankedTensorType(element)

    definition = op.get_irdl_definition()
    operands = [create_ssa_value(pick(d)) for _, d in definition.operands]
    if wrong is not None:
        operands[wrong] = create_ssa_value(dialect.SeqType(dialect.SeqType(f32)))
    return op.create(operands=operands, result_types=[pick(d) for _, d in definition.results])


def test_most_ops_are_simple_enough_for_the_tests_below():
    assert len(SIMPLE) > 170


@pytest.mark.parametrize("op", SIMPLE, ids=[op.name for op in SIMPLE])
def test_op_with_allowed_types_verifies(op: Any):
    build(op).verify()


@pytest.mark.parametrize("op", SIMPLE, ids=[op.name for op in SIMPLE])
def test_op_with_a_wrong_operand_type_is_refused_in_one_sentence(op: Any):
    definition = op.get_irdl_definition()
    for index, (name, _) in enumerate(definition.operands):
        with pytest.raises(VerifyException) as caught:
            build(op, wrong=index).verify()
        message = str(caught.value)
        assert message.startswith(f"{op.name}: operand {name} has type !onnx.Seq")
        assert "expected" in message
        assert "\n" not in message


@pytest.mark.parametrize("op", SIMPLE, ids=[op.name for op in SIMPLE])
def test_op_with_an_element_type_that_is_not_allowed_is_refused(op: Any):
    for index, (name, definition) in enumerate(op.get_irdl_definition().operands):
        refused = set(ELEMENT_TYPES.values()) - constraint(definition).elements
        for element in sorted(refused, key=str)[:3]:
            made = build(op)
            made.operands[index] = create_ssa_value(TensorType(element, [1]))
            with pytest.raises(VerifyException, match=f"^{op.name}: operand {name} has type tensor<1x"):
                made.verify()


def test_operands_of_one_type_parameter_have_one_element_type():
    x = create_ssa_value(TensorType(f32, [2]))
    y = create_ssa_value(TensorType(dialect.STRING_TYPE, [2]))
    op = dialect.EqualOp.create(operands=[x, y], result_types=[UnrankedTensorType(f32)])
    with pytest.raises(VerifyException, match="onnx.Equal: operand B has type .* expected element type f32"):
        op.verify()


def test_error_names_the_node():
    op = build(dialect.ReluOp, wrong=0)
    op.attributes["onnx_node_name"] = string_value("layer/relu")
    with pytest.raises(VerifyException, match=r'^onnx.Relu \(node "layer/relu"\): operand X has type'):
        op.verify()


def test_random_ops_are_not_pure():
    for op in (dialect.RandomNormalOp, dialect.RandomUniformLikeOp, dialect.DropoutOp, dialect.BernoulliOp):
        assert not op.has_trait(Pure)
        assert op.has_trait(dialect.NonDeterministic)
    assert dialect.AddOp.has_trait(Pure)
