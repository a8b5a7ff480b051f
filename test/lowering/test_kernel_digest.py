"""A kernel's digest follows its content, not its names."""

from __future__ import annotations

import pytest

from onnxloom.lowering.kernel_digest import kernel_digest
from onnxloom.tools.testing.kernels import elementwise_text, parse_kernels

_BODY = "%c = arith.constant 1.5 : f32 %s = arith.subf %a, %b : f32 {r} = arith.mulf %s, %c : f32"
_TEXT = elementwise_text("one", ["f32", "f32"], [("f32", _BODY)])


def _digest(text: str) -> str:
    (kernel,) = parse_kernels(text)
    return kernel_digest(kernel)


@pytest.mark.parametrize(("old", "new"), [('"one"', '"two"'), ("%s", "%difference"), ("%n", "%length")])
def test_names_do_not_matter(old: str, new: str):
    assert _digest(_TEXT.replace(old, new)) == _digest(_TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1.5", "2.5"),
        ("1.5", "-1.5"),
        ("%a, %b", "%b, %a"),
        ("subf", "addf"),
        ("f32", "f64"),
        ("{loom.parallel}", ""),
        ('"read", "read", "write"', '"read", "readwrite", "write"'),
    ],
)
def test_content_matters(old: str, new: str):
    assert old in _TEXT
    assert _digest(_TEXT.replace(old, new)) != _digest(_TEXT)


def test_the_nesting_of_regions_matters():
    inside = """
    scf.if %flag {
      memref.store %v, %x[%c0] : memref<?xf32>
      memref.store %v, %x[%c1] : memref<?xf32>
    }"""
    behind = """
    scf.if %flag {
      memref.store %v, %x[%c0] : memref<?xf32>
    }
    memref.store %v, %x[%c1] : memref<?xf32>"""
    text = """
    "loom.kernel"() <{sym_name = "k", access = ["write"]}> ({
    ^bb0(%x: memref<?xf32>, %n: index):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %v = arith.constant 1.0 : f32
      %flag = arith.cmpi sgt, %n, %c1 : index
      BODY
      "loom.end"() : () -> ()
    }) : () -> ()
    """
    assert _digest(text.replace("BODY", inside)) != _digest(text.replace("BODY", behind))
