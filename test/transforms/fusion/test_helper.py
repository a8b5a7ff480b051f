"""A kind is checked when its class is made; the base builds and reads back, and declines what is unsafe."""

from __future__ import annotations

import math
from dataclasses import field
from enum import Enum
from typing import Any, ClassVar

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, PatternRewriteWalker

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.kinds.elementwise import ElementwiseFusion
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.pattern import FusedPatternForOpKind


class Mode(Enum):
    FAST = 1
    EXACT = 2


class Everything(FusionOpKindHelper):
    """A kind with a parameter of every type."""

    kind: ClassVar[str] = "test.everything"
    anchors: ClassVar[tuple[type[Operation], ...]] = (onnx.NegOp,)
    count: int
    flag: bool
    scale: float
    name: str
    axes: tuple[int, ...]
    pairs: tuple[tuple[str, float], ...]
    mode: Mode
    start: int | None
    rate: float = 0.0

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Everything] | Miss:
        return Miss("never")

    def verify(self, body: Body) -> Miss | None:
        return None


def module_of(body: str, inputs: str = "%x: tensor<4xf32>", outputs: str = "tensor<4xf32>") -> ModuleOp:
    return parse_module(f"func.func @f({inputs}) -> ({outputs}) {{\n{body}\n}}")


def ops_of(module: ModuleOp) -> list[Operation]:
    (function,) = module.ops
    return list(function.regions[0].block.ops)


CHAIN = """
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.Abs"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %2 : tensor<4xf32>
"""


def everything(**changes: Any) -> Everything:
    values: dict[str, Any] = {
        "count": -3, "flag": True, "scale": 0.1, "name": "a\"b", "axes": (), "pairs": (("x", 1.5),),
        "mode": Mode.EXACT, "start": None,
    }  # fmt: skip
    return Everything(**{**values, **changes})


def fuse(helper: FusionOpKindHelper, ops: list[Operation], results: list[SSAValue]) -> onnx.FusedOp | Miss:
    return FusionOpKindHelper.fuse(Match(helper, ops, results), PatternRewriter(ops[0]))


def fused_chain(helper: FusionOpKindHelper) -> tuple[ModuleOp, onnx.FusedOp]:
    module = module_of(CHAIN)
    ops = ops_of(module)[:3]
    fused = fuse(helper, ops, [ops[2].results[0]])
    assert isinstance(fused, onnx.FusedOp)
    module.verify()
    return module, fused


# Parameters.


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"start": 0, "flag": False, "axes": (1, -2), "pairs": ()},
        {"scale": math.inf, "rate": -0.0},
        {"mode": Mode.FAST, "name": ""},
        {"dim_conditions": ((0, 1, 2, 3),)},
    ],
)
def test_parameters_survive_attributes(changes: dict[str, Any]):
    helper = everything(**changes)
    _, fused = fused_chain(helper)
    assert repr(Everything.retrieve_attrs(fused)) == repr(helper)


def test_parameters_survive_text():
    helper = everything(start=7)
    module, _ = fused_chain(helper)
    again = parse_module(str(module))
    (fused,) = (op for op in again.walk() if isinstance(op, onnx.FusedOp))
    assert Everything.retrieve_attrs(fused) == helper


@pytest.mark.parametrize("name", ["count", "flag", "scale", "name", "axes", "pairs", "mode"])
def test_a_missing_attribute_is_a_miss_that_names_it(name: str):
    _, fused = fused_chain(everything(axes=(1,)))
    del fused.attributes[name]
    miss = Everything.retrieve_attrs(fused)
    assert isinstance(miss, Miss) and name in miss.reason and "missing" in miss.reason


@pytest.mark.parametrize("name", ["count", "flag", "scale", "axes", "pairs", "mode", "start", "rate"])
def test_an_attribute_of_another_type_is_a_miss_that_names_it(name: str):
    _, fused = fused_chain(everything())
    fused.attributes[name] = StringAttr("something else")
    miss = Everything.verify_and_retrieve_attrs(fused)
    assert isinstance(miss, Miss) and name in miss.reason and "expected" in miss.reason


def test_a_helper_is_frozen():
    with pytest.raises(AttributeError):
        everything().count = 4  # pyright: ignore[reportAttributeAccessIssue]


# Class creation.


def detect(cls: Any, dims: DimAnalysis, anchor: Operation) -> Miss:
    return Miss("no")


def verify(self: Any, body: Body) -> None:
    return None


COMPLETE: dict[str, Any] = {
    "kind": "test.kind",
    "anchors": (onnx.NegOp,),
    "detect_if_beneficial": classmethod(detect),
    "verify": verify,
}


def make_kind(**changes: Any) -> type[FusionOpKindHelper]:
    members = {name: value for name, value in {**COMPLETE, **changes}.items() if value is not None}
    return type("MyKind", (FusionOpKindHelper,), members)


def test_a_complete_kind_is_accepted():
    assert make_kind().benefit == make_kind().max_op_count


@pytest.mark.parametrize("name", list(COMPLETE))
def test_a_missing_member_is_named_when_the_class_is_made(name: str):
    with pytest.raises(TypeError, match=f"MyKind: a fusion kind must define '{name}'"):
        make_kind(**{name: None})


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"kind": "plain"}, "MyKind.kind"),
        ({"anchors": ()}, "MyKind.anchors"),
        ({"anchors": ("onnx.Neg",)}, "MyKind.anchors"),
        ({"max_op_count": 0}, "MyKind.max_op_count"),
        ({"__annotations__": {"x": "object"}, "x": 0}, "MyKind.x"),
        ({"__annotations__": {"x": "list[int]"}, "x": 0}, "MyKind.x"),
    ],
)
def test_a_wrong_member_is_named_when_the_class_is_made(changes: dict[str, Any], message: str):
    with pytest.raises(TypeError, match=message):
        make_kind(**changes)


@pytest.mark.parametrize(
    "name",
    ["fuse", "unfuse", "retrieve_ops_and_output_values", "verify_and_retrieve_attrs", "is_inside_fused_op"],
)
def test_final_methods_cannot_be_overridden(name: str):
    with pytest.raises(TypeError, match=f"MyKind.{name}: this method is final"):
        make_kind(**{name: lambda: None})


def test_the_adapter_refuses_a_foreign_anchor_and_a_base_class():
    with pytest.raises(TypeError, match="does not start from ExpOp"):
        FusedPatternForOpKind(onnx.ExpOp, Everything)
    base = type("Base", (FusionOpKindHelper,), {}, abstract=True)
    with pytest.raises(TypeError, match="Base"):
        FusedPatternForOpKind(onnx.NegOp, base)
    with pytest.raises(TypeError, match="not a subclass"):
        FusedPatternForOpKind(onnx.NegOp, dict)  # pyright: ignore[reportArgumentType]


# Building.


def test_a_value_read_outside_that_is_not_a_result_is_declined():
    module = module_of(
        """
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %0, %1 : tensor<4xf32>, tensor<4xf32>
""",
        outputs="tensor<4xf32>, tensor<4xf32>",
    )
    before = str(module)
    ops = ops_of(module)[:2]
    miss = fuse(everything(), ops, [ops[1].results[0]])
    assert isinstance(miss, Miss) and "onnx.Neg" in miss.reason and "onnx.Return" in miss.reason
    assert str(module) == before


def test_a_value_captured_by_a_subgraph_counts_as_read_outside():
    module = module_of(
        """
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.If"(%c) ({
    "onnx.Yield"(%0) : (tensor<4xf32>) -> ()
  }, {
    "onnx.Yield"(%1) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  onnx.Return %2 : tensor<4xf32>
""",
        inputs="%x: tensor<4xf32>, %c: tensor<i1>",
    )
    ops = ops_of(module)[:2]
    miss = fuse(everything(), ops, [ops[1].results[0]])
    assert isinstance(miss, Miss) and "onnx.Neg" in miss.reason


def test_no_place_between_inputs_and_outside_uses_is_declined():
    module = module_of(
        """
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Softmax"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.Add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %2 : tensor<4xf32>
"""
    )
    ops = [ops_of(module)[i] for i in (0, 2)]
    miss = fuse(everything(), ops, [ops[0].results[0], ops[1].results[0]])
    assert isinstance(miss, Miss) and "onnx.Softmax" in miss.reason


def test_an_outside_use_between_the_ops_pulls_the_fused_op_in_front_of_it():
    module = module_of(
        """
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Softmax"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.Exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %1, %2 : tensor<4xf32>, tensor<4xf32>
""",
        outputs="tensor<4xf32>, tensor<4xf32>",
    )
    ops = [ops_of(module)[i] for i in (2, 0)]  # out of order on purpose
    fused = fuse(everything(), ops, [ops[1].results[0], ops[0].results[0]])
    assert isinstance(fused, onnx.FusedOp)
    module.verify()
    assert [op.name for op in ops_of(module)] == ["onnx.FusedOp", "onnx.Softmax", "onnx.Return"]
    assert [op.name for op in fused.body.block.ops] == ["onnx.Neg", "onnx.Exp", "onnx.Yield"]


def test_ops_of_two_blocks_impure_ops_and_ops_with_regions_are_declined():
    module = module_of(
        """
  %0 = "onnx.RandomUniformLike"(%x) {dtype = f32} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.If"(%c) ({
    %3 = "onnx.Neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    "onnx.Yield"(%3) : (tensor<4xf32>) -> ()
  }, {
    "onnx.Yield"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  onnx.Return %2 : tensor<4xf32>
""",
        inputs="%x: tensor<4xf32>, %c: tensor<i1>",
    )
    random, branch, _ = ops_of(module)
    nested = branch.regions[0].block.first_op or branch.regions[1].block.first_op
    assert nested is not None
    for ops, words in (
        ([random], "not pure"),
        ([branch], "regions"),
        ([random, nested], "one block"),
        ([], "no ops"),
        ([random, random], "twice"),
    ):
        miss = FusionOpKindHelper.fuse(Match(everything(), ops, []), PatternRewriter(random))
        assert isinstance(miss, Miss) and words in miss.reason


def test_more_ops_than_the_kind_takes_are_declined():
    helper = make_kind(max_op_count=2)()
    ops = ops_of(module_of(CHAIN))[:3]
    miss = fuse(helper, ops, [ops[2].results[0]])
    assert isinstance(miss, Miss) and "3 ops" in miss.reason


def test_results_that_are_listed_twice_or_made_elsewhere_are_declined():
    module = module_of(CHAIN)
    neg, exp, last = ops_of(module)[:3]
    before = str(module)
    twice = fuse(everything(), [neg, exp, last], [last.results[0], last.results[0]])
    assert isinstance(twice, Miss) and twice.reason == "the match lists a result twice"
    elsewhere = fuse(everything(), [exp, last], [last.results[0], neg.results[0]])
    assert isinstance(elsewhere, Miss) and elsewhere.reason == "a result of the match is not made by its ops"
    assert str(module) == before


def test_shape_plumbing_is_cloned_inside_and_skipped_when_read_back():
    module = module_of(
        """
  %two = onnx.Constant dense<2> : tensor<1xi64>
  %0 = "onnx.Neg"(%x) : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %d = "onnx.Dim"(%0) {axis = 0 : si64} : (tensor<?x6xf32>) -> tensor<1xi64>
  %s = "onnx.Concat"(%d, %two) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %1 = "onnx.Reshape"(%0, %s) : (tensor<?x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return %1 : tensor<?x?xf32>
""",
        inputs="%x: tensor<?x6xf32>",
        outputs="tensor<?x?xf32>",
    )
    _, neg, _, _, reshape, _ = ops_of(module)
    fused = fuse(everything(), [neg, reshape], [reshape.results[0]])
    assert isinstance(fused, onnx.FusedOp)
    module.verify()
    assert [op.name for op in ops_of(module)] == ["onnx.FusedOp", "onnx.Return"]
    assert len(fused.inputs) == 1
    body = FusionOpKindHelper.retrieve_ops_and_output_values(fused)
    assert [op.name for op in body.ops] == ["onnx.Neg", "onnx.Reshape"]


def test_a_dim_read_elsewhere_too_keeps_its_value_alive():
    module = module_of(
        """
  %0 = "onnx.Neg"(%x) : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %d = "onnx.Dim"(%0) {axis = 0 : si64} : (tensor<?x6xf32>) -> tensor<1xi64>
  %1 = "onnx.Reshape"(%0, %d) : (tensor<?x6xf32>, tensor<1xi64>) -> tensor<?xf32>
  onnx.Return %1, %d : tensor<?xf32>, tensor<1xi64>
""",
        inputs="%x: tensor<?x6xf32>",
        outputs="tensor<?xf32>, tensor<1xi64>",
    )
    neg, dim, reshape, _ = ops_of(module)
    miss = fuse(everything(), [neg, reshape], [reshape.results[0]])
    assert isinstance(miss, Miss) and "onnx.Dim" in miss.reason
    fused = fuse(everything(), [neg, reshape], [reshape.results[0], neg.results[0]])
    assert isinstance(fused, onnx.FusedOp)
    module.verify()
    assert dim.operands[0] is fused.results[1]


def test_reading_back_and_unfusing_give_the_chain_again():
    module, fused = fused_chain(everything())
    assert [op.name for op in FusionOpKindHelper.retrieve_ops_and_output_values(fused).ops] == [
        "onnx.Neg", "onnx.Exp", "onnx.Abs",
    ]  # fmt: skip
    FusionOpKindHelper.unfuse(PatternRewriter(fused), fused)
    assert module.is_structurally_equivalent(module_of(CHAIN))


def test_a_body_of_another_kind_is_not_read_back():
    _, fused = fused_chain(everything())
    fused.properties["kind"] = StringAttr("test.else")
    miss = Everything.verify_and_retrieve_attrs(fused)
    assert isinstance(miss, Miss) and miss.reason == "the kind is 'test.else'; expected 'test.everything'"


def test_a_body_without_results_computes_nothing():
    _, fused = fused_chain(everything())
    end = fused.body.block.last_op
    assert end is not None
    end.operands = []
    miss = Everything.verify_and_retrieve_attrs(fused)
    assert isinstance(miss, Miss) and miss.reason == "the body computes nothing"


def test_a_yielded_argument_is_no_result_of_a_chain():
    _, fused = fused_chain(everything())
    end = fused.body.block.last_op
    assert end is not None
    end.operands[0] = fused.body.block.args[0]
    miss = Everything.verify_and_retrieve_attrs(fused)
    assert isinstance(miss, Miss) and "yielded" in miss.reason


def test_a_condition_on_a_dim_no_input_has_is_a_miss():
    _, fused = fused_chain(everything(dim_conditions=((0, 0, 3, 0),)))
    miss = Everything.verify_and_retrieve_attrs(fused)
    assert isinstance(miss, Miss) and "dim condition" in miss.reason


def test_is_inside_fused_op_sees_any_depth():
    module = module_of(
        """
  %0 = "onnx.FusedOp"(%x) <{kind = "a.b"}> ({
  ^bb0(%a: tensor<4xf32>):
    %c = onnx.Constant dense<true> : tensor<i1>
    %1 = "onnx.If"(%c) ({
      %2 = "onnx.Neg"(%a) : (tensor<4xf32>) -> tensor<4xf32>
      "onnx.Yield"(%2) : (tensor<4xf32>) -> ()
    }, {
      "onnx.Yield"(%a) : (tensor<4xf32>) -> ()
    }) : (tensor<i1>) -> tensor<4xf32>
    "onnx.Yield"(%1) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %0 : tensor<4xf32>
"""
    )
    (neg,) = (op for op in module.walk() if isinstance(op, onnx.NegOp))
    assert FusionOpKindHelper.is_inside_fused_op(neg)
    assert not FusionOpKindHelper.is_inside_fused_op(ops_of(module)[0])


def test_a_miss_knows_where_it_was_made():
    miss = Miss("why")
    assert miss.file == "test/transforms/fusion/test_helper.py"
    assert miss.line == detect_line() - 2


def detect_line() -> int:
    import sys

    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    return caller.f_lineno


def test_works_as_an_ordinary_pattern_and_leaves_its_own_output_alone():
    module = module_of(CHAIN)
    patterns = [FusedPatternForOpKind(anchor, ElementwiseFusion) for anchor in ElementwiseFusion.anchors]
    walker = PatternRewriteWalker(GreedyRewritePatternApplier(list(patterns)))
    assert walker.rewrite_module(module)
    module.verify()
    assert [op.name for op in ops_of(module)] == ["onnx.FusedOp", "onnx.Return"]
    assert not walker.rewrite_module(module)


def test_an_optional_parameter_with_another_default_is_refused():
    """Both would be written as no attribute: None would be read back as the default."""
    with pytest.raises(TypeError, match="None and the default 3 are both left out"):

        class Ambiguous(ElementwiseFusion):  # pyright: ignore[reportUnusedClass]
            kind: ClassVar[str] = "test.ambiguous"
            width: int | None = field(default=3, kw_only=True)
