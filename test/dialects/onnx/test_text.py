"""Is text that other ONNX-dialect tools write read, verified, printed and read again?"""

from __future__ import annotations

import random
import re
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    FileLineColLoc,
    FloatAttr,
    FusedLoc,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    TensorType,
    UnknownLoc,
    UnrankedTensorType,
    f32,
)
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects import onnx as o
from onnxloom.dialects.onnx.access import attr, float_attr, floats_attr, int_attr, str_attr, strs_attr
from onnxloom.dialects.onnx.element_types import si64
from onnxloom.dialects.onnx.text import make_context, parse_module, print_module
from onnxloom.dialects.verify_dominance import verify_dominance
from onnxloom.errors import ModelError

INPUTS = Path(__file__).parent / "Inputs"
CORPUS = sorted(INPUTS.glob("*.mlir"))


def printed(module: ModuleOp, **options: Any) -> str:
    stream = StringIO()
    print_module(module, stream, **options)
    return stream.getvalue()


def ops_of(text: str) -> dict[str, Operation]:
    """Name hint of the first result -> op, of the ops in a function with some values to use."""
    module = parse_module(
        "func.func @f(%x: tensor<2x3xf32>, %u: tensor<*xf32>, %i: tensor<2xi64>) {\n"
        + text
        + "\nonnx.Return\n}"
    )
    module.verify()
    return {op.results[0].name_hint or "": op for op in module.walk() if op.results}


def test_corpus_is_there():
    assert len(CORPUS) >= 8


@pytest.mark.parametrize("path", CORPUS, ids=[path.stem for path in CORPUS])
def test_corpus_parses_verifies_and_prints_to_the_same_text_again(path: Path):
    module = parse_module(path)
    module.verify()
    verify_dominance(module)
    text = printed(module)
    again = parse_module(text)
    again.verify()
    assert printed(again) == text
    assert [op.name for op in module.walk()] == [op.name for op in again.walk()]


@pytest.mark.parametrize("path", CORPUS, ids=[path.stem for path in CORPUS])
def test_generic_form_says_the_same(path: Path):
    from onnxloom.dialects.onnx.text import OnnxPrinter

    module = parse_module(path)
    stream = StringIO()
    OnnxPrinter(stream=stream, print_generic_format=True).print_op(module)
    assert printed(parse_module(stream.getvalue())) == printed(module)


@pytest.mark.parametrize("path", CORPUS, ids=[path.stem for path in CORPUS])
def test_locations_survive_when_printed(path: Path):
    module = parse_module(path)
    text = printed(module, locations=True)
    again = parse_module(text)
    assert [op.location for op in again.walk()] == [op.location for op in module.walk()]


def test_attributes_are_properties_in_whichever_braces_they_stand():
    ops = ops_of(
        """
        %a = "onnx.Softmax"(%u) {axis = 1 : si64, onnx_node_name = "n"} : (tensor<*xf32>) -> tensor<*xf32>
        %b = "onnx.Softmax"(%u) <{axis = 1 : si64, onnx_node_name = "n"}> : (tensor<*xf32>) -> tensor<*xf32>
        """
    )
    assert ops["a"].properties == ops["b"].properties == {"axis": IntegerAttr(1, si64)}
    assert ops["a"].attributes == ops["b"].attributes == {"onnx_node_name": StringAttr("n")}


def test_integers_and_data_types_in_other_spellings_become_si64():
    ops = ops_of(
        """
        %a = "onnx.Softmax"(%x) {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %b = "onnx.Cast"(%x) {to = f16} : (tensor<2x3xf32>) -> tensor<2x3xf16>
        %c = "onnx.Cast"(%x) <{to = ui8}> : (tensor<2x3xf32>) -> tensor<2x3xui8>
        %d = "onnx.Transpose"(%x) {perm = [1 : si64, 0 : si64]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
        """
    )
    assert ops["a"].properties["axis"] == IntegerAttr(1, si64)
    assert [int_attr(ops[name], "to") for name in "bc"] == [10, 2]
    assert str(ops["d"].properties["perm"]) == "[1 : i64, 0 : i64]"


def test_short_forms_of_constant_become_value():
    ops = ops_of(
        """
        %a = onnx.Constant {value_ints = [1, 2]} : tensor<2xi64>
        %b = "onnx.Constant"() {value_float = 0.5 : f32, onnx_node_name = "half"} : () -> tensor<f32>
        %c = "onnx.Constant"() {value_string = "s"} : () -> tensor<!onnx.String>
        """
    )
    values = {name: o.constant_value(op.results[0]) for name, op in ops.items()}
    assert {name: value.tolist() for name, value in values.items() if value is not None} == {
        "a": [1, 2],
        "b": 0.5,
        "c": "s",
    }
    assert ops["b"].attributes == {"onnx_node_name": StringAttr("half")}


def test_float_attributes_survive_bit_for_bit():
    texts = ["0x7F800000", "0xFF800000", "0x7FC00123", "-0.000000e+00", "1.401300e-45", "3.40282347e+38"]
    for text in texts:
        ops = ops_of(f'%a = "onnx.Elu"(%x) {{alpha = {text} : f32}} : (tensor<2x3xf32>) -> tensor<2x3xf32>')
        attribute = ops["a"].properties["alpha"]
        assert f"alpha = {text} : f32" in printed_op(ops["a"])
        again = ops_of(
            f'%a = "onnx.Elu"(%x) <{{alpha = {text} : f32}}> : (tensor<2x3xf32>) -> tensor<2x3xf32>'
        )
        assert again["a"].properties["alpha"] == attribute


def printed_op(op: Operation) -> str:
    from onnxloom.dialects.onnx.text import OnnxPrinter

    stream = StringIO()
    OnnxPrinter(stream=stream).print_op(op)
    return stream.getvalue()


def test_strings_are_any_bytes():
    ops = ops_of(
        '%a = "onnx.Custom"(%x) {function_name = "\\C3\\A9", raw = "\\FF\\00", plain = "é"} '
        ": (tensor<2x3xf32>) -> tensor<2x3xf32>"
    )
    op = ops["a"]
    assert str_attr(op, "function_name") == "é"
    assert op.attributes == {"raw": BytesAttr(b"\xff\x00"), "plain": StringAttr("é")}
    assert str_attr(op, "raw").encode("utf-8", "surrogateescape") == b"\xff\x00"
    assert 'raw = "\\FF\\00"' in printed_op(op)


def test_custom_op_keeps_all_its_attributes():
    ops = ops_of(
        '%a = "onnx.Custom"(%x, %u) <{function_name = "F", alpha = 0.5 : f32}> '
        '{domain_name = "d", k = [1.0 : f32], s = ["p", "q"], n = 3 : si64} '
        ": (tensor<2x3xf32>, tensor<*xf32>) -> tensor<2x3xf32>"
    )
    op = ops["a"]
    assert isinstance(op, o.CustomOp)
    assert (str_attr(op, "function_name"), str_attr(op, "domain_name")) == ("F", "d")
    assert (float_attr(op, "alpha"), floats_attr(op, "k"), int_attr(op, "n")) == (0.5, (1.0,), 3)
    assert strs_attr(op, "s") == ("p", "q")


def test_encoding_of_a_ranked_tensor_is_kept_and_of_an_unranked_one_dropped():
    ops = ops_of(
        """
        %a = "onnx.Relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>
        %b = "onnx.Relu"(%x) : (tensor<2x3xf32>) -> tensor<*xf32, #foreign<enc [1, <2>]>>
        """
    )
    ranked = ops["a"].results[0].type
    assert isinstance(ranked, TensorType)
    assert str(ranked.encoding) == '#onnx.layout<{dataLayout = "NCHW4C"}>'
    assert ops["b"].results[0].type == UnrankedTensorType(f32)


def test_location_aliases_defined_at_the_end_are_filled_in():
    module = parse_module(INPUTS / "locations.mlir")
    by_name = {op.name: op.location for op in module.walk()}
    add = FileLineColLoc(StringAttr("m.onnx"), IntAttr(3), IntAttr(7))
    assert by_name["onnx.Add"] == add
    assert str(add) == 'loc("m.onnx":3:7)'
    assert isinstance(by_name["onnx.Relu"], FusedLoc)
    assert by_name["onnx.Return"] == NameLoc(StringAttr("ret"), add)
    assert by_name["func.func"] == UnknownLoc()
    (function,) = (op for op in module.walk() if op.name == "func.func")
    argument = function.regions[0].block.args[1]
    assert argument.location == FusedLoc(ArrayAttr([add, by_name["onnx.Return"]]), NoneAttr())


def test_missing_location_alias_is_an_error():
    with pytest.raises(ModelError, match="location alias #loc9 is not defined"):
        parse_module('"builtin.module"() ({}) : () -> () loc(#loc9)')


def test_long_arrays_read_as_xdsl_reads_them():
    text = '"onnx.Custom"() {function_name = "F", a = [%s]} : () -> ()'
    for body in (
        "1, 2 : i64, -3 : si64, 4 : i32",
        "1.5, -2.0 : f32, 3.25e2 : f64",
        '"a", "b,c]", "\\C3\\A9"',
        "0x7F800000 : f32",
        "true, 1 : i8",
        "[1], [2, 3]",
        "",
        "i64, f32",
    ):
        from xdsl.parser import Parser

        stock = Parser(make_context(), text % body).parse_module()
        ours = parse_module(text % body)
        ours_attr, stock_attr = (next(iter(m.body.block.ops)).attributes["a"] for m in (ours, stock))
        if "C3" not in body:  # bytes to xDSL
            assert ours_attr == stock_attr
        assert printed(parse_module(printed(ours))) == printed(ours)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("func.func @f() { onnx.Return", r"1:\d+: "),
        (
            'func.func @f() {\n  %0 = "onnx.Nope"() : () -> ()\n}',
            r"2:\d+: Operation onnx.Nope is not registered",
        ),
        ("func.func @f() {\n  onnx.Return %x : i64\n}", "values used but not defined"),
        ("", "Could not parse"),
        ('module { "onnx.Custom"() {a = "\\q"} : () -> () }', "f.mlir:1"),
        ("func.func @f() {\n %0 = onnx.Constant 5\n onnx.Return }", "f.mlir"),
        ("(" * 10000, "f.mlir"),
        ("module {" * 5000, "nest too deeply"),
    ],
)
def test_wrong_text_is_refused_in_one_line(text: str, problem: str):
    with pytest.raises(ModelError, match=problem) as caught:
        parse_module(text, filename="f.mlir")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("f.mlir:")


def test_stock_parser_and_printer_read_and_write_most_of_it():
    from xdsl.parser import Parser
    from xdsl.printer import Printer

    for name in ("classifier", "transformer"):
        module = Parser(make_context(), (INPUTS / f"{name}.mlir").read_text()).parse_module()
        module.verify()
        stream = StringIO()
        Printer(stream=stream).print_op(module)
        Parser(make_context(), stream.getvalue()).parse_module().verify()


def test_stock_printer_writes_constants_exactly():
    from xdsl.printer import Printer

    text = (
        "func.func @f() {\n  %0 = onnx.Constant dense<[0x7F800000, -0.0]> : tensor<2xf32>\n  onnx.Return\n}"
    )
    stream = StringIO()
    Printer(stream=stream).print_op(parse_module(text))
    assert "dense<[0x7F800000, -0.000000e+00]> : tensor<2xf32>" in stream.getvalue()
    assert re.search("inf|nan", stream.getvalue()) is None


def test_default_of_an_absent_attribute_is_not_printed():
    ops = ops_of('%a = "onnx.Softmax"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>')
    assert int_attr(ops["a"], "axis") == -1
    assert "axis" not in printed_op(ops["a"])
    assert isinstance(attr(ops["a"], "axis"), IntegerAttr)
    assert not isinstance(attr(ops["a"], "axis"), FloatAttr)


def test_ops_of_other_tools_become_the_standards():
    module = parse_module(INPUTS / "other_names.mlir")
    names = [op.name for op in module.walk()]
    assert {"onnx.MaxPool", "onnx.BatchNormalization", "onnx.FusedOp"} <= set(names)
    assert names.count("onnx.Yield") == 2
    pool = next(op for op in module.walk() if op.name == "onnx.MaxPool")
    assert [str(result.type) for result in pool.results] == ["tensor<*xf32>", "none"]


@pytest.mark.parametrize(
    "attr",
    [
        "dense<0xFF800000> : vector<4xf32>",
        "dense<[0x7FC00001, -0.000000e+00]> : vector<2xf32>",
        "dense<[1, 2]> : vector<2xindex>",
        "dense<[[true, false]]> : vector<1x2xi1>",
        "dense<[1, 2]> : tensor<2xindex>",
        "0x7F800000 : f32",
        "0xFFF8000000000001 : f64",
    ],
)
def test_constants_of_other_dialects_keep_their_bits(attr: str):
    text = f"func.func @f() {{\n    %0 = arith.constant {attr}\n    func.return\n  }}"
    assert f"%0 = arith.constant {attr}\n" in printed(parse_module(printed(parse_module(text))))


@pytest.mark.parametrize(
    ("attr", "problem"),
    [
        ("!onnx.Seq", "parameters of onnx.Seq"),
        ("!onnx.Seq<f32, f32>", "parameters of onnx.Seq"),
        ('#onnx.weights<"a", "b" : f32>', "has type f32; expected a ranked tensor"),
        ('#onnx.weights<"a", [1] : tensor<1xf32>>', "Expected ','"),
        ('#onnx.weights<"a", "b", "md5:1" : tensor<1xf32>>', "sha256"),
        ("99999999999999999999 : si64", "out of range"),
        ("dense_resource<a> : f32", "expected a ranked tensor"),
        ("dense<1.0> : f32", "expected a tensor"),
        ("dense<1> : tensor<i128>", "no constants"),
        ("dense<1.0> : tensor<4294967296x4294967296x4294967296xf32>", "too many elements"),
        ('dense<"a"> : tensor<10000000000x!onnx.String>', "too many elements"),
        ("sparse<[[11]], [1.0]> : tensor<10xf32>", "do not fit"),
        ("sparse<[[0]], [1.0]> : tensor<1000000000000xf32>", "do not fit"),
        ("dense_disposable<1> : tensor<1xf32>", "dense_disposable"),
    ],
)
def test_wrong_attribute_is_refused_in_one_line(attr: str, problem: str):
    with pytest.raises(ModelError, match=problem) as caught:
        parse_module(f'"builtin.module"() ({{}}) {{a = {attr}}} : () -> ()')
    assert "\n" not in str(caught.value)


def test_damaged_text_gives_a_typed_error_or_a_module():
    """Tokens of the corpus left out, doubled, swapped: no other exception than ours."""
    token = re.compile(r'"[^"\n]*"|[%#@!^]?[\w.$-]+|\s+|\S')
    rng = random.Random(7)
    texts = [token.findall(path.read_text()) for path in CORPUS]
    outcomes: Counter[str] = Counter()
    for _ in range(400):
        tokens = list(rng.choice(texts))
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(tokens))
            tokens[place : place + 1] = rng.choice(
                [[], [rng.choice(tokens)], [tokens[place], rng.choice(tokens)]]
            )
        try:
            module = parse_module("".join(tokens))
            module.verify()
        except (ModelError, VerifyException) as error:
            outcomes[type(error).__name__] += 1
            continue
        outcomes["fine"] += 1
        text = printed(module)
        assert printed(parse_module(text)) == text
    assert outcomes["ModelError"] > 100
    assert outcomes["fine"] > 20


@pytest.mark.parametrize("before", ["", "func.func @f() { "])
def test_string_without_an_end_is_an_error_at_once(before: str):
    with pytest.raises(ModelError, match="before closing string literal"):
        parse_module(f'{before}"{"a" * 1000}\n')
