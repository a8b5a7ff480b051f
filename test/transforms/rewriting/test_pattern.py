"""What a pattern class must be: mistakes are told when the class is made."""

from __future__ import annotations

from typing import Any

import pytest

from onnxloom.dialects import onnx
from onnxloom.transforms.rewriting.pattern import Numerics, PatternOptimization, Stage


def make(class_name: str = "SomethingPattern", **members: Any) -> type[PatternOptimization]:
    hooks = {"match": lambda *_: None, "apply": lambda *_: None}
    return type(class_name, (PatternOptimization,), {**hooks, **members})


def test_the_name_is_that_of_the_class():
    assert make().name == "Something"
    assert make("Other").name == "Other"
    assert make(name="Given").name == "Given"


def test_defaults():
    made = make()
    assert made.priority == 1 and made.min_opset == 1 and made.start_ops == () and made.default
    assert made.numerics is Numerics.EXACT and made.stage is Stage.AFTER_SHAPE_INFERENCE
    assert not made.is_abstract and not made.replaces_builtin


def test_a_base_need_not_be_complete_and_a_subclass_has_a_name_of_its_own():
    class Base(PatternOptimization, abstract=True):
        def match(self, graph: Any, op: Any) -> Any: ...

    class FirstPattern(Base):
        def apply(self, graph: Any, match: Any) -> Any: ...

    class SecondPattern(FirstPattern, replaces_builtin=True):
        pass

    assert Base.is_abstract and not FirstPattern.is_abstract
    assert (FirstPattern.name, SecondPattern.name) == ("First", "Second")
    assert SecondPattern.replaces_builtin and not FirstPattern.replaces_builtin


@pytest.mark.parametrize("hook", ["match", "apply"])
def test_both_hooks_are_needed(hook: str):
    other = {"match": "apply", "apply": "match"}[hook]
    with pytest.raises(TypeError, match=f"must define '{hook}', the method that"):
        type("Bad", (PatternOptimization,), {other: lambda *_: None})


@pytest.mark.parametrize(
    ("members", "error", "message"),
    [
        ({"name": ""}, TypeError, "expected a non-empty string"),
        ({"name": 3}, TypeError, "expected a non-empty string"),
        ({"name": "a*"}, ValueError, "glob characters"),
        ({"name": "a b"}, ValueError, "no spaces"),
        ({"priority": "1"}, TypeError, "expected an integer"),
        ({"priority": True}, TypeError, "expected an integer"),
        ({"priority": -1}, ValueError, "expected 0 or more"),
        ({"min_opset": 0}, ValueError, "expected 1 or more"),
        ({"start_ops": onnx.AddOp}, TypeError, r"a tuple of op classes such as \(onnx.CastOp,\)"),
        ({"start_ops": ("Add",)}, TypeError, "a tuple of op classes"),
        ({"start_ops": (int,)}, TypeError, "a tuple of op classes"),
        ({"numerics": "exact"}, TypeError, "expected one of Numerics.EXACT, "),
        ({"stage": "before_fusion"}, TypeError, "expected one of Stage.CONTRIBUTED, "),
        ({"default": 1}, TypeError, "expected True or False"),
        ({"adds_ops": True}, TypeError, "expected a sentence"),
    ],
)
def test_mistakes(members: dict[str, Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        make(**members)
