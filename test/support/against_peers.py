"""Does one op, compiled, give what the host op and onnxruntime give? For ops whose result is exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx.helper as oh
import onnxruntime
from numerics import Array, compiled, graph_model, proto_type
from onnx.defs import onnx_opset_version

from onnxloom.lowering.runtime.host_ops import evaluate

_OPSET = min(onnx_opset_version(), 23)
"""The latest that onnxruntime knows well."""


def check_peers(
    name: str,
    arrays: Sequence[Array | None],
    *,
    outputs: int = 1,
    constants: Sequence[int] = (),
    host: bool = True,
    runtime: bool = True,
    dynamic: Sequence[bool] = (True, False),
    domain: str = "",
    want: Sequence[Array] | None = None,
    **attrs: Any,
) -> list[Array]:
    """Compares all bits but those of NaN, without a host step; `constants` are positions of initializers.

    Gives what the compiled op gave.
    """
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(arrays)]
    given = {f"x{i}": a for i, a in enumerate(arrays) if a is not None}
    results = [f"y{i}" for i in range(outputs)]
    node = oh.make_node(name, names, results, domain=domain, **attrs)
    wanted = list(want) if want is not None else []
    if host:
        made = [np.asarray(y) for y in evaluate(node, [None if a is None else a for a in arrays])]
        wanted = wanted or made
        _same(made, wanted)
    if runtime:
        theirs = _runtime(node, given)
        wanted = wanted or theirs
        _same(theirs, wanted)
    held = {f"x{i}": given[f"x{i}"] for i in constants}
    feeds = {n: a for n, a in given.items() if n not in held}
    examples = dict(zip(results, wanted, strict=True))
    ours: list[Array] = []
    for is_dynamic in dynamic:
        proto = graph_model([node], feeds, examples, constants=held, dynamic=is_dynamic)
        proto.opset_import.append(oh.make_opsetid("ai.onnx.ml", 4))
        model = compiled(proto)
        ours = list(model.run(feeds).values())
        _same(ours, wanted)
        assert not model.host_counts, model.host_counts
    return ours


def _runtime(node: Any, given: Mapping[str, Array]) -> list[Array]:
    infos = [oh.make_tensor_value_info(n, proto_type(a), a.shape) for n, a in given.items()]
    outs = [oh.make_empty_tensor_value_info(n) for n in node.output]
    opsets = [oh.make_opsetid("", _OPSET), oh.make_opsetid("ai.onnx.ml", 4)]
    model = oh.make_model(oh.make_graph([node], "g", infos, outs), opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return list(session.run(None, dict(given)))


def _same(got: Sequence[Array], want: Sequence[Array]) -> None:
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if a.dtype.kind in "biu":
            np.testing.assert_array_equal(a, b)
        else:
            wide = np.complex128 if a.dtype.kind == "c" else np.float64
            np.testing.assert_array_equal(a.astype(wide), b.astype(wide))
