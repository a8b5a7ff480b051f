"""Is memory that was written behind the back of all checks noticed, and whose kernel did it?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from llvmlite.ir import instructions

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import KernelFault
from onnxloom.lowering.checked import instrument
from onnxloom.lowering.compile import CompileOptions, compile_module

KERNEL = """
"loom.kernel"() <{{sym_name = "{name}", access = ["read", "write"]}}> ({{
^bb0(%in: memref<?xf32>, %out: memref<?xf32>, %n: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {{
    %v = memref.load %in[%i] : memref<?xf32>
    memref.store %v, %out[%i] : memref<?xf32>
  }}
  %off = arith.constant {off} : index
  %w = memref.load %in[%c0] : memref<?xf32>
  memref.store %w, %out[%off] : memref<?xf32>
  "loom.end"() : () -> ()
}}) : () -> ()
"""

PROGRAM = """
"loom.program"() <{sym_name = "main_graph", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<8xf32>):
  %n = arith.constant 8 : index
  %d = "tensor.empty"() : () -> tensor<8xf32>
  %t = "loom.launch"(%x, %d, %n) <{kernel = @first, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<8xf32>, tensor<8xf32>, index) -> tensor<8xf32>
  %e = "tensor.empty"() : () -> tensor<8xf32>
  %y = "loom.launch"(%t, %e, %n) <{kernel = @second, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<8xf32>, tensor<8xf32>, index) -> tensor<8xf32>
  "loom.return"(%y) : (tensor<8xf32>) -> ()
}) : () -> ()
"""  # noqa: E501

X = np.arange(8, dtype=np.float32)


@pytest.fixture
def unchecked_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores that no check is added to."""
    checked = instrument.FunctionChecks.check_access

    def access(self: Any, instruction: Any, *args: Any) -> None:
        if not isinstance(instruction, instructions.StoreInstr):
            checked(self, instruction, *args)

    monkeypatch.setattr(instrument.FunctionChecks, "check_access", access)


def run(first: int) -> Any:
    text = KERNEL.format(name="first", off=first) + KERNEL.format(name="second", off=0) + PROGRAM
    return compile_module(parse_module(text), CompileOptions(cache=False, checked=True))(X)[0]


@pytest.mark.usefixtures("unchecked_stores")
@pytest.mark.parametrize(
    ("element", "place"),
    [(8, "byte 0 behind buffer 1"), (25, "byte 68 behind buffer 1"), (-1, "byte 60 before")],
)
def test_a_red_zone_that_was_written(element: int, place: str) -> None:
    with pytest.raises(
        KernelFault, match=f"^kernel first: {place}.* was written, by no access that was checked"
    ):
        run(element)


@pytest.mark.usefixtures("unchecked_stores")
def test_red_zones_that_were_not_written() -> None:
    np.testing.assert_array_equal(run(0), X)


def test_the_check_of_the_access_comes_first() -> None:
    with pytest.raises(KernelFault, match=r"store of float .* \(element 8\) of buffer 1"):
        run(8)
