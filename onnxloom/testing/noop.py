"""Does a transform leave a model alone?"""

from __future__ import annotations

import io
from itertools import zip_longest

from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects.onnx.text import print_module
from onnxloom.testing.models import Model, as_module
from onnxloom.testing.numerics import Transform


def assert_noop(model: Model, transform: Transform) -> None:
    """The transform changes nothing: not an op, not a type, not a name, not a weight.

    Raises:
        AssertionError: shows the first line of the text that changed.
    """
    module = as_module(model)
    before = text_of(module)
    transform(module)
    changed = first_change(before, text_of(module))
    if changed:
        raise AssertionError(f"the transform changed the module: {changed}")


def text_of(module: ModuleOp) -> str:
    """All of a module as text, weights included."""
    stream = io.StringIO()
    print_module(module, stream)
    return stream.getvalue()


def first_change(before: str, after: str) -> str:
    """The first line that differs between two texts, in words; "" when they are equal."""
    lines = zip_longest(before.splitlines(), after.splitlines())
    for number, (old, new) in enumerate(lines, 1):
        if old != new:
            return f"line {number} was {_shown(old)}, is {_shown(new)}"
    return ""


def _shown(line: str | None) -> str:
    return "not there" if line is None else repr(line.strip()[:200])
