"""Which elements does a Slice take along an axis, as a Python slice?"""

from __future__ import annotations


def python_slice(start: int, end: int, step: int, size: int) -> slice:
    """The Python slice of an axis of `size` elements.

    The two differ in one case: counting down, a start below the first element is clamped to the first
    element by ONNX, and leaves nothing in Python.
    """
    is_below = step < 0 and start < -size
    return slice(0 if is_below else start, end, step)
