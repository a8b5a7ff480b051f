"""Is every access that leaves its buffer found, with the kernel, the op, the buffer and the place?"""

from __future__ import annotations

import re

import numpy as np
import pytest

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import KernelFault
from onnxloom.lowering.compile import CompileOptions, compile_module
from onnxloom.lowering.runtime.model import CompiledModel

PROGRAM = """
"loom.kernel"() <{{sym_name = "planted", access = ["read", "write"]}}> ({{
^bb0(%in: memref<?x{element}>, %out: memref<?x{element}>, %n: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {body}
  "loom.end"() : () -> ()
}}) : () -> ()
"loom.program"() <{{sym_name = "main_graph", arg_names = ["x"], result_names = ["y"]}}> ({{
^bb0(%x: tensor<{dims}x{element}>):
  %n = arith.constant {n} : index
  %e = "tensor.empty"() {{origin = "Planted \\"p\\""}} : () -> tensor<{dims}x{element}>
  %y = "loom.launch"(%x, %e, %n) <{{kernel = @planted, operandSegmentSizes = array<i32: 1, 1, 1>}}> : (tensor<{dims}x{element}>, tensor<{dims}x{element}>, index) -> tensor<{dims}x{element}>
  "loom.return"(%y) : (tensor<{dims}x{element}>) -> ()
}}) : () -> ()
"""  # noqa: E501

COPY = """
  scf.for %i = %c0 to %n step %c1 {{
    %v = memref.load %in[%i] : memref<?xf32>
    memref.store %v, %out[{at}] : memref<?xf32>
  }}
"""

LANES = """
  %c16 = arith.constant 16 : index
  %off = arith.constant {shift} : index
  scf.for %b = %c0 to %n step %c16 {{
    scf.for %l = %c0 to %c16 step %c1 {{
      %i = arith.addi %b, %l : index
      %j = arith.addi %i, %off : index
      %v = memref.load %in[{load}] : memref<?xf32>
      memref.store %v, %out[{store}] : memref<?xf32>
    }} {{loom.lanes}}
  }}
"""


def planted(body: str, n: int, dims: int | None = None, element: str = "f32") -> CompiledModel:
    text = PROGRAM.format(body=body, n=n, dims=n if dims is None else dims, element=element)
    return compile_module(parse_module(text), CompileOptions(cache=False, checked=True))


def fault(model: CompiledModel, *inputs: np.ndarray) -> str:
    with pytest.raises(KernelFault) as caught:
        model(*inputs)
    return str(caught.value)


X = np.arange(32, dtype=np.float32)


def test_a_kernel_that_stays_in_its_buffers_is_left_alone() -> None:
    np.testing.assert_array_equal(planted(COPY.format(at="%i"), 32)(X)[0], X)
    lanes = LANES.format(shift=0, load="%j", store="%j")
    np.testing.assert_array_equal(planted(lanes, 32)(X)[0], X)


def test_a_store_one_behind_the_end() -> None:
    body = COPY.format(at="%i").replace("memref.store", "%k = arith.addi %i, %c1 : index\nmemref.store")
    message = fault(planted(body.replace("%out[%i]", "%out[%k]"), 32), X)
    expected = (
        'Planted "p": kernel planted: store of float in the kernel\'s loops: '
        "4 bytes at byte 128 (element 32) of buffer 1 (output 0), which has 128 bytes"
    )
    assert message == expected


def test_a_store_before_the_start() -> None:
    body = COPY.format(at="%i").replace("memref.store", "%k = arith.subi %i, %c1 : index\nmemref.store")
    message = fault(planted(body.replace("%out[%i]", "%out[%k]"), 32), X)
    assert "4 bytes at byte -4 (element -1) of buffer 1 (output 0)" in message


def test_a_load_one_behind_the_end() -> None:
    message = fault(planted(COPY.format(at="%i"), n=33, dims=32), X)
    assert (
        "load of float in the kernel's loops: 4 bytes at byte 128 (element 32) of buffer 0 (input 0)"
        in message
    )


def test_vectors_that_reach_over_an_end() -> None:
    message = fault(planted(LANES.format(shift=1, load="%i", store="%j"), 32), X)
    assert "store of 16 x float" in message
    assert "64 bytes at byte 68 (element 17) of buffer 1 (output 0), which has 128 bytes" in message
    message = fault(planted(LANES.format(shift=-1, load="%j", store="%i"), 32), X)
    assert "load of 16 x float" in message
    assert "64 bytes at byte -4 (element -1) of buffer 0 (input 0)" in message


def test_an_index_that_is_far_away_touches_nothing() -> None:
    body = """
      %far = arith.constant 1152921504606846976 : index
      %v = memref.load %in[%far] : memref<?xf32>
      memref.store %v, %out[%far] : memref<?xf32>
    """
    assert "load of float" in fault(planted(body, 32), X)


def test_scratch_memory_has_an_extent_too() -> None:
    body = """
      %s = memref.alloca() : memref<8xf32>
      scf.for %i = %c0 to %n step %c1 {
        %v = memref.load %in[%i] : memref<?xf32>
        memref.store %v, %s[%i] : memref<8xf32>
        %w = memref.load %s[%i] : memref<8xf32>
        memref.store %w, %out[%i] : memref<?xf32>
      }
    """
    message = fault(planted(body, 32), X)
    assert "store of float in the kernel's loops: 4 bytes at byte 32 of scratch memory 0" in message
    np.testing.assert_array_equal(planted(body, 8)(X[:8])[0], X[:8])


def test_scratch_memory_that_is_read_before_it_is_written() -> None:
    body = """
      %s = memref.alloca() : memref<8xf32>
      %w = memref.load %s[%c0] : memref<8xf32>
    """
    body += COPY.format(at="%i").replace("memref.store %v", "%u = arith.mulf %v, %w : f32\nmemref.store %u")
    message = fault(planted(body, 8), X[2:10])
    assert message == 'Planted "p": kernel planted: byte 0 of output 0 depends on memory that nobody wrote'


def test_an_output_that_is_read_before_it_is_written() -> None:
    body = COPY.format(at="%i").replace("memref.load %in[%i]", "memref.load %out[%i]")
    assert "byte 0 of output 0" in fault(planted(body, 8), X[:8])


def test_an_output_that_is_not_all_written() -> None:
    message = fault(planted(COPY.format(at="%i"), n=7, dims=8), X[:8])
    assert message.endswith("byte 28 of output 0 is read later and was not written")


def test_a_kernel_goes_on_working_after_a_fault() -> None:
    body = COPY.format(at="%i")
    text = PROGRAM.format(body=body, n=32, dims="?", element="f32")
    text = text.replace('empty"()', 'empty"(%n)').replace(": () -> tensor<?", ": (index) -> tensor<?")
    model = compile_module(parse_module(text), CompileOptions(cache=False, checked=True))
    np.testing.assert_array_equal(model(X)[0], X)
    assert re.search("load of float", fault(model, X[:31]))
    np.testing.assert_array_equal(model(X)[0], X)
