"""UnsqueezeUnsqueeze, SqueezeUnsqueeze: against numpy for all axes of small ranks, and why they decline."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.layout.squeeze_unsqueeze import SqueezeUnsqueezePattern
from onnxloom.transforms.patterns.layout.unsqueeze_unsqueeze import UnsqueezeUnsqueezePattern


def tensor(shape: Sequence[int | None] | None) -> str:
    if shape is None:
        return "tensor<*xf32>"
    return f"tensor<{'x'.join([*('?' if dim is None else str(dim) for dim in shape), 'f32'])}>"


def pair(
    first: str,
    second: str,
    axes: Sequence[int] | None,
    more: Sequence[int] | None,
    x: Sequence[int | None] | None,
    returned: str = "%1",
) -> str:
    """Two ops in a row; axes that are None are left out."""
    lines = ['%none = "onnx.NoValue"() {value} : () -> none']
    types = {"none": "none"}
    names: list[str] = []
    for name, values in (("a", axes), ("b", more)):
        if values is None:
            names.append("none")
            continue
        types[name] = f"tensor<{len(values)}xi64>"
        lines.append(f"%{name} = onnx.Constant dense<{list(values)}> : {types[name]}")
        names.append(name)
    t = "tensor<*xf32>"
    lines.append(f'%0 = "onnx.{first}"(%x, %{names[0]}) : ({tensor(x)}, {types[names[0]]}) -> {t}')
    lines.append(f'%1 = "onnx.{second}"(%0, %{names[1]}) : ({t}, {types[names[1]]}) -> {t}')
    results = ", ".join([t] * (returned.count(",") + 1))
    body = "\n".join(lines)
    return f"func.func @f(%x: {tensor(x)}) -> ({results}) {{\n{body}\nonnx.Return {returned} : {results}\n}}"


def ops(module: ModuleOp) -> list[str]:
    kinds = (onnx.SqueezeOp, onnx.UnsqueezeOp)
    return [op.name.removeprefix("onnx.") for op in module.walk() if isinstance(op, kinds)]


X = (2, 3)


@pytest.mark.parametrize("negative", [False, True])
def test_all_unsqueezes_of_a_matrix(negative: bool):
    for first, second in itertools.product([(0,), (1,), (2,), (0, 1), (0, 3), (2, 3)], repeat=2):
        r1, r2 = 2 + len(first), 2 + len(first) + len(second)
        if max(second) >= r2 or max(first) >= r1:
            continue
        a = [axis - r1 for axis in first] if negative else first
        b = [axis - r2 for axis in second] if negative else second
        done = check_pattern(pair("Unsqueeze", "Unsqueeze", a, b, X), UnsqueezeUnsqueezePattern, times=1)
        assert ops(done) == ["Unsqueeze"]


def test_axes_in_any_order_and_an_unknown_rank():
    text = pair("Unsqueeze", "Unsqueeze", [2, 0], [3, 1], None)
    feeds = {"x": np.ones((2, 3), np.float32)}
    assert ops(check_pattern(text, UnsqueezeUnsqueezePattern, feeds)) == ["Unsqueeze"]


@pytest.mark.parametrize(
    ("first", "second", "axes", "more", "x", "left"),
    [
        ("Unsqueeze", "Squeeze", [1], [1], X, []),
        ("Unsqueeze", "Squeeze", [-2], [1], X, []),
        ("Unsqueeze", "Squeeze", [0, 1], [1], X, ["Unsqueeze"]),
        ("Unsqueeze", "Squeeze", [0, 3], [0], X, ["Unsqueeze"]),
        ("Unsqueeze", "Squeeze", [1], [0, 1], (1, 3), ["Squeeze"]),
        ("Unsqueeze", "Squeeze", [0], [0, 2], (3, 1), ["Squeeze"]),
        ("Unsqueeze", "Squeeze", [1], None, (1, None), ["Squeeze"]),
        ("Unsqueeze", "Squeeze", [1], None, X, ["Squeeze"]),
        ("Squeeze", "Unsqueeze", [0], [0], (1, 3), []),
        ("Squeeze", "Unsqueeze", [-2], [0], (1, 3), []),
        ("Squeeze", "Unsqueeze", None, [0], (1, 3), []),
        ("Squeeze", "Unsqueeze", None, [0, 2], (1, 3, 1), []),
        ("Squeeze", "Unsqueeze", [0, 2], [0], (1, 3, 1), ["Squeeze"]),
        ("Squeeze", "Unsqueeze", [0, 2], [1], (1, 3, 1), ["Squeeze"]),
        ("Squeeze", "Unsqueeze", [0, 1], [1], (1, 1, 3, 1), None),
        ("Squeeze", "Unsqueeze", [0], [0, 1], (1, 3), ["Unsqueeze"]),
        ("Squeeze", "Unsqueeze", [1], [0, 2], (3, 1), ["Unsqueeze"]),
        ("Squeeze", "Unsqueeze", [0], [1], (1, 3), None),
        ("Squeeze", "Unsqueeze", [0], [1, 2], (1, 3), None),
        ("Unsqueeze", "Squeeze", [0], [1], (1, 3), None),
    ],
)
def test_pairs(
    first: str, second: str, axes: list[int], more: list[int], x: tuple[int], left: list[str] | None
):
    text = pair(first, second, axes, more, x)
    if left is None:
        reason = decline_reason(text, SqueezeUnsqueezePattern)
        assert "one op would have to insert axes and remove others" in reason
    else:
        assert ops(check_pattern(text, SqueezeUnsqueezePattern, times=1)) == left


def test_all_pairs_of_small_ranks_keep_their_shape():
    """Whatever is rewritten has the shape that numpy gives, for each set of axes."""
    fired = 0
    for shape in ((1, 2), (1, 1, 2), (1, 2, 1)):
        ones = [axis for axis, dim in enumerate(shape) if dim == 1]
        for size in range(1, len(ones) + 1):
            for removed in itertools.combinations(ones, size):
                rank = len(shape) - size
                for count in (1, 2):
                    for inserted in itertools.combinations(range(rank + count), count):
                        text = pair("Squeeze", "Unsqueeze", removed, inserted, shape)
                        try:
                            check_pattern(text, SqueezeUnsqueezePattern)
                            fired += 1
                        except AssertionError as error:
                            assert "did not fire" in str(error), error
    assert fired >= 10


@pytest.mark.parametrize("pattern", [UnsqueezeUnsqueezePattern, SqueezeUnsqueezePattern])
def test_an_inner_op_that_is_read_elsewhere_stays(
    pattern: type[UnsqueezeUnsqueezePattern] | type[SqueezeUnsqueezePattern],
):
    second = "Unsqueeze" if pattern is UnsqueezeUnsqueezePattern else "Squeeze"
    done = check_pattern(pair("Unsqueeze", second, [0], [0], X, "%1, %0"), pattern, times=1)
    assert ops(done) == (["Unsqueeze", "Unsqueeze"] if second == "Unsqueeze" else ["Unsqueeze"])


def test_why_unsqueezes_stay():
    text = pair("Squeeze", "Unsqueeze", [0], [0], (1, 2))
    assert "not the result of an Unsqueeze" in decline_reason(text, UnsqueezeUnsqueezePattern)
    text = pair("Unsqueeze", "Unsqueeze", [-1], [0], None)
    assert "the axes are not known" in decline_reason(text, UnsqueezeUnsqueezePattern)
    text = pair("Unsqueeze", "Unsqueeze", [0], [-1], None)
    assert "the axes are not known" in decline_reason(text, UnsqueezeUnsqueezePattern)
    text = """func.func @f(%x: tensor<2xf32>, %a: tensor<1xi64>) -> tensor<?x?x?xf32> {
      %0 = "onnx.Unsqueeze"(%x, %a) : (tensor<2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
      %1 = "onnx.Unsqueeze"(%0, %a) : (tensor<?x?xf32>, tensor<1xi64>) -> tensor<?x?x?xf32>
      onnx.Return %1 : tensor<?x?x?xf32>
    }"""
    assert "the axes are not known" in decline_reason(text, UnsqueezeUnsqueezePattern)


def test_why_pairs_stay():
    pattern = SqueezeUnsqueezePattern
    text = pair("Unsqueeze", "Unsqueeze", [0], [0], X)
    assert "not the result of an Squeeze" in decline_reason(text, pattern)
    text = pair("Squeeze", "Unsqueeze", None, [0], (1, None))
    assert "the axes are not known" in decline_reason(text, pattern), "the other dim may be 1 too"
    text = pair("Squeeze", "Unsqueeze", [-1], [0], None)
    assert "the axes are not known" in decline_reason(text, pattern)
    many = list(range(9))
    text = pair("Unsqueeze", "Squeeze", many, [0], (2,))
    assert "there are too many axes" in decline_reason(text, pattern)
