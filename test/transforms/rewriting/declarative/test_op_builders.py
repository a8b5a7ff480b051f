"""Do the op builders know every op, and does their stub say the same?"""

from __future__ import annotations

import ast
from typing import Any, cast

import pytest

from onnxloom.dialects.onnx import OPS_BY_NAME
from onnxloom.tools import gen_pattern_ops
from onnxloom.transforms.rewriting.declarative import op
from onnxloom.transforms.rewriting.declarative.signature import signature_of


def test_the_stub_is_what_the_generator_writes():
    assert gen_pattern_ops.OUTPUT.read_text(encoding="utf-8") == gen_pattern_ops.generate(), (
        "run python -m onnxloom.tools.gen_pattern_ops"
    )


def test_the_check_tells_a_stale_stub(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    stale = tmp_path / "op.pyi"
    stale.write_text("", encoding="utf-8")
    monkeypatch.setattr(gen_pattern_ops, "OUTPUT", stale)
    monkeypatch.setattr("sys.argv", ["gen_pattern_ops", "--check"])
    assert gen_pattern_ops.main() == 1
    assert "differs from the dialect" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["gen_pattern_ops"])
    assert gen_pattern_ops.main() == 0
    monkeypatch.setattr("sys.argv", ["gen_pattern_ops", "--check"])
    assert gen_pattern_ops.main() == 0


def test_every_op_without_graphs_has_a_builder_and_a_stub():
    tree = ast.parse(gen_pattern_ops.OUTPUT.read_text(encoding="utf-8"))
    stubs = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} - {"custom"}
    expected = {name for (_, name), kind in OPS_BY_NAME.items() if not signature_of(kind).has_graphs}
    assert stubs == expected - {"Constant"}
    for name in stubs:
        assert cast(Any, op).__getattr__(name).op_class.onnx_name == name


def test_element_types_stand_for_their_numbers():
    from xdsl.dialects.builtin import f16

    made = cast(Any, op.Cast(1.0, to=cast(Any, f16)))
    assert made.op.attributes == {"to": 10}
