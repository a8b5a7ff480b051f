"""Does the author of a plug-in learn in one line what he got wrong, and where?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import PassError
from onnxloom.lowering.compile import CompileOptions, compile_module
from onnxloom.transforms.fusion.plugins import use_plugins

PLUGIN = Path(__file__).parents[2] / "docs" / "examples" / "mean_square.py"
MODULE = """
func.func @f(%x: tensor<?x8xf32>) -> tensor<?x1xf32> {
  %axes = onnx.Constant dense<-1> : tensor<1xi64>
  %0 = "onnx.Mul"(%x, %x) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.ReduceMean"(%0, %axes) : (tensor<?x8xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  onnx.Return %1 : tensor<?x1xf32>
}"""

LAUNCH = "builder.launch(k, [x], [builder.empty(result, dims)], [builder.multiply(outer), columns])"
STORE = "            k.store(s.divf(total, count), k.outs[0], i)\n"
MISTAKES = {
    "a size left out": (
        LAUNCH, LAUNCH.replace(", columns]", "]"), "takes 1 input and 2 sizes, got 1 and 1 (line 79)",
    ),
    "a size too many": (
        LAUNCH, LAUNCH.replace("columns]", "columns, columns]"), "takes 1 input and 2 sizes, got 1 and 3",
    ),
    "no input": (LAUNCH, LAUNCH.replace("[x]", "[]"), "takes 1 input and 2 sizes, got 0 and 2"),
    "no destination": (
        LAUNCH, LAUNCH.replace("[builder.empty(result, dims)]", "[]"),
        "takes 1 input, 1 output and 2 sizes, got 1, 0 and 2 (line 79)",
    ),
    "another input": (
        LAUNCH, LAUNCH.replace("[x]", "[builder.constant(np.zeros(3))]"),
        "mean_square: input 0 has elements of type f64; the kernel's are f32",
    ),
    "a dim left out": (
        "dims = [*outer, builder.index(1)] if helper.keepdims else outer", "dims = outer",
        "a result of type tensor<?x1xf32> has 2 dims, got 1 (line 79)",
    ),
    "no store": (STORE, "", "kernel mean_square stores nothing to its output 0"),
    "a program-level size": (
        "k.reduce(k.sizes[1]", "k.reduce(builder.dim(x, 0)",
        "kernel mean_square uses a program-level value; pass it as a size or an input (line 79)",
    ),
    "a value of a loop that has ended": (
        STORE, STORE + "        k.store(total, k.outs[0], k.index(0))\n",
        "kernel mean_square uses a value outside the loop or branch it is made in",
    ),
    "two float types": (
        "s.mul(value, value)", "s.mul(value, s.const(1.0, f64))", "mul of types f32 and f64; convert one",
    ),
    "a store of another type": (
        STORE, STORE.replace("s.divf(total, count)", "s.float_to(total, f64)"),
        "cannot store a value of type f64 to a buffer of f32",
    ),
    "a step of another type": (
        "[s.const(0.0, f32)], add", "[s.const(0.0, f64)], add", "add of types f64 and f32",
    ),
    "a step that gives nothing": (
        "return [reassociated(s.add(total[0], s.mul(value, value)))]", "return []",
        "the step of a reduction gives (), init has (f32)",
    ),
    "a result too many": (
        f"return {LAUNCH}", f"return [*{LAUNCH}] * 2",
        "MeanSquareLowering.lower_verified gives 2 results; onnx.FusedOp has 1",
    ),
    "no result": (
        f"return {LAUNCH}", LAUNCH, "lower_verified gives a NoneType; expected the results",
    ),
    "another result": (
        f"return {LAUNCH}", "return [x]",
        "result 0 has type tensor<?x8xf32>; that of onnx.FusedOp has type tensor<?x1xf32>",
    ),
    "a verify that says True": (
        "return check(*body.ops)", "return True",
        "MeanSquareFusion: TypeError: verify gives a bool; expected a Miss, or None if all is well",
    ),
    "a detection that says nothing": (
        "return check(anchor, readers[0]) or Match(helper, (anchor, readers[0]), readers[0].results)",
        "return check(anchor, readers[0])",
        "MeanSquareFusion.detect_if_beneficial gives a NoneType; expected a Match or a Miss",
    ),
    "no helper": (
        "    helper = MeanSquareFusion\n", "    helpr = MeanSquareFusion\n",
        "lowering MeanSquareLowering lacks helper (the class of the kind it lowers)",
    ),
    "a misspelt method": (
        "def lower_verified(", "def lower_verifed(", "lowering MeanSquareLowering lacks lower_verified",
    ),
}  # fmt: skip


def compiled_with(path: Path) -> None:
    with use_plugins([path]):
        compile_module(parse_module(MODULE), CompileOptions(cache=False, strict=True))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_that_names_the_file(mistake: str, tmp_path: Path) -> None:
    right, wrong, message = MISTAKES[mistake]
    source = PLUGIN.read_text()
    assert source.count(right) == 1
    source = source.replace(right, wrong).replace("import f32, i64", "import f32, f64, i64")
    path = tmp_path / "mine.py"
    path.write_text(source.replace("from typing import Self", "from typing import Self; import numpy as np"))
    with pytest.raises(PassError, match=re.escape(message)) as error:
        compiled_with(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_a_base_class_of_lowerings_needs_no_kind(tmp_path: Path) -> None:
    source = PLUGIN.read_text()
    base = "class Base(FusedOpKindLowering[MeanSquareFusion]):\n    pass\n\n\nclass MeanSquareLowering(Base):"
    path = tmp_path / "mine.py"
    path.write_text(source.replace("class MeanSquareLowering(FusedOpKindLowering[MeanSquareFusion]):", base))
    compiled_with(path)
