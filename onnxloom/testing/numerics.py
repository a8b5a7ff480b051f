"""Does a transform keep what a model computes?

assert_preserves_numerics(model, feeds, transform, tolerance=Ulp(1))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects.verify_module import verify_module
from onnxloom.errors import ModelError
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.testing.declared import DeclaredTypes
from onnxloom.testing.difference import differences
from onnxloom.testing.feeds import varied_feeds
from onnxloom.testing.models import Model, as_module
from onnxloom.testing.tolerance import EXACT, Tolerance

Feeds = Mapping[str, Any]
Transform = Callable[[ModuleOp], object]
"""Changes a module in place; what it returns does not matter."""


def assert_preserves_numerics(
    model: Model,
    feeds: Feeds | Sequence[Feeds] | None,
    transform: Transform,
    tolerance: Tolerance = EXACT,
) -> ModuleOp:
    """The transformed module, whose outputs have the same names, dtypes, shapes and values as the model's.

    `feeds` are inputs by name, or several of them; with None they are made up, special values included.
    The model itself is not changed.

    Raises:
        AssertionError: the transform left invalid IR, or something differs; names the worst output.
        ModelError: the model cannot be evaluated on the host.
        ValueError: `feeds` is an empty list.
    """
    module = as_module(model)
    expected = _expected(module, feeds)
    transform(module)
    try:
        verify_module(module)
    except ModelError as error:
        raise AssertionError(f"the transform left invalid IR: {error}") from error
    for case, (fed, want) in enumerate(expected):
        wrong = _wrong(module, fed, want, tolerance)
        if wrong:
            which = f" (case {case + 1} of {len(expected)})" if len(expected) > 1 else ""
            raise AssertionError(f"the transform changed the results{which}: {wrong}")
    return module


def _expected(module: ModuleOp, feeds: Feeds | Sequence[Feeds] | None) -> list[tuple[Feeds, dict[str, Any]]]:
    """What the untouched module gives; made-up inputs that it does not accept are left out."""
    if isinstance(feeds, Mapping):
        return [(feeds, evaluate_module(module, feeds))]
    if feeds is not None:
        if not feeds:
            raise ValueError("feeds is an empty list: nothing would be compared")
        return [(fed, evaluate_module(module, fed)) for fed in feeds]
    results: list[tuple[Feeds, dict[str, Any]]] = []
    first: ModelError | None = None
    for fed in varied_feeds(module):
        try:
            results.append((fed, evaluate_module(module, fed)))
        except ModelError as error:
            first = first or error
    if not results:
        raise ModelError(f"no made-up inputs fit the model; give some ({first})") from first
    return results


def _wrong(module: ModuleOp, feeds: Feeds, want: Mapping[str, Any], tolerance: Tolerance) -> str:
    """What is wrong with the outputs of a transformed module; "" when nothing is."""
    declared = DeclaredTypes()
    try:
        got = evaluate_module(module, feeds, seen=declared.see)
    except ModelError as error:
        return f"it does not run any more: {error}"
    found = differences(want, got, tolerance)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return f"output {found[0]}{more}"
    return declared.wrong
