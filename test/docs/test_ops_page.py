"""Is docs/ops.md what the registries and the last run of the conformance suite say?"""

from __future__ import annotations

from onnx import defs

from onnxloom.tools.coverage.evidence import collect, read, write
from onnxloom.tools.coverage.page import EVIDENCE, PAGE, page
from onnxloom.tools.coverage.ways import OpWay, Way, op_ways


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(op_ways(), read(EVIDENCE)), "run `make ops`"


def test_every_op_of_the_standard_is_listed_once() -> None:
    listed = [(op.domain, op.name) for op in op_ways()]
    assert len(listed) == len(set(listed))
    assert {(s.domain, s.name) for s in defs.get_all_schemas_with_history()} <= set(listed)


def test_ways() -> None:
    ways = {(op.domain, op.name): op.way for op in op_ways()}
    assert ways["", "Conv"] is Way.KERNEL
    assert ways["", "Add"] is Way.MAP
    assert ways["", "Loop"] is Way.PLAN
    assert ways["", "Shape"] is Way.PLAN
    assert ways["", "Bernoulli"] is Way.HOST  # its body draws numbers, which no kernel does
    assert ways["", "SwiGLU"] is Way.BODY
    assert ways["", "HammingWindow"] in (Way.KERNEL, Way.BODY)
    assert ways["", "StringSplit"] is Way.HOST
    assert ways["com.microsoft", "FusedGemm"] is Way.REWRITTEN
    assert ways["ai.onnx.ml", "Scaler"] is Way.REWRITTEN
    assert ways["ai.onnx.ml", "ZipMap"] is Way.HOST


def test_only_training_is_not_supported() -> None:
    refused = {(op.domain, op.name) for op in op_ways() if op.way is Way.NONE}
    assert refused == {("ai.onnx.preview.training", "Gradient")}


def test_an_op_that_ran_in_python_is_counted_there(tmp_path) -> None:  # pyright: ignore
    add, pad = ("", "Add"), ("", "Pad")
    reason = "no kernel for tensor<2x?xf32> and tensor<i64>"
    evidence = collect([([add, pad], {}), ([add], {add: reason}), ([add], {add: reason})])
    file = tmp_path / "evidence.tsv"
    write(file, evidence)
    assert read(file) == {add: (1, 2, "no kernel for f32 and i64 (2)"), pad: (1, 0, "")}
    text = page([OpWay("", "Add", 1, Way.MAP)], read(file))
    assert "| Add | 1 | kernel, elementwise | 1 | 2 | no kernel for f32 and i64 (2) |" in text
