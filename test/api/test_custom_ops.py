"""Functions of users run ops that nobody here knows: anywhere in a model, with errors that name the node."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numba
import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

import onnxloom
from onnxloom.conversion.onnx_import import import_model
from onnxloom.tools.cli import main
from onnxloom.transforms.describe import describe
from onnxloom.transforms.plugins import use_plugins

X = np.array([[1, -2, 3], [4, 5, -6]], np.float32)


def model(body: str, signature: str = "float[N,3] x", result: str = "float[N,3] y", rest: str = "") -> bytes:
    head = '<ir_version: 10, opset_import: ["" : 21, "my" : 1, "f" : 1]>'
    return parse_model(f"{head} g ({signature}) => ({result}) {{ {body} }} {rest}").SerializeToString()


def session(source: bytes, name: str, fn: Any, shape_fn: Any = None) -> onnxloom.InferenceSession:
    options = onnxloom.SessionOptions()
    options.register_custom_op("my", name, fn, shape_fn)
    return onnxloom.InferenceSession(source, options)


def run(source: bytes, name: str, fn: Any, shape_fn: Any = None, **feeds: Any) -> list[Any]:
    return session(source, name, fn, shape_fn).run(None, feeds or {"x": X})


SCALED = model("a = Relu(x) b = my.Scale <by = 2.0> (a) y = Add(b, x)")


def scale(x: Any, by: float) -> Any:
    return x * np.float32(by)


def same(x: onnxloom.TensorInfo, **_: Any) -> onnxloom.TensorInfo:
    return x


def test_a_function_runs_an_op_between_kernels() -> None:
    (y,) = run(SCALED, "Scale", scale)
    np.testing.assert_array_equal(y, np.maximum(X, 0) * 2 + X)
    assert y.dtype == np.float32


def test_nobody_is_warned_of_an_op_that_he_registered() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = session(SCALED, "Scale", scale, same)
        made.run(None, {"x": X})
    assert made.host_steps == 1


def test_attributes_omitted_inputs_and_several_outputs() -> None:
    seen: list[Any] = []
    told: list[Any] = []

    def fn(*inputs: Any, **attributes: Any) -> tuple[Any, Any, Any]:
        seen.append((inputs, attributes))
        return inputs[0], np.arange(2), inputs[2]

    def shapes(*infos: Any, **attributes: Any) -> list[Any]:
        told.append((infos, attributes))
        return [infos[0], (np.int64, (2,)), infos[2]]

    body = """a, , c = my.Many <i = 3, f = 0.5, s = "text", ints = [1, 2], floats = [0.5],
        strings = ["u", "v"], t = float[2] {1, 2}> (x, , x, )
        y = Add(a, c)"""
    (y,) = run(model(body), "Many", fn, shapes)
    np.testing.assert_array_equal(y, X + X)
    stated = {"i": 3, "f": 0.5, "s": "text", "ints": (1, 2), "floats": (0.5,), "strings": ("u", "v")}
    for inputs, attributes in (seen[0], *told):
        assert len(inputs) == 3 and inputs[1] is None and inputs[0].dtype == inputs[2].dtype == np.float32
        np.testing.assert_array_equal(attributes.pop("t"), np.array([1, 2], np.float32))
        assert attributes == stated


def test_any_number_of_inputs() -> None:
    source = model("y = my.Total(x, x, x, x)")
    np.testing.assert_array_equal(run(source, "Total", lambda *xs: sum(xs))[0], 4 * X)


def test_a_shape_function_tells_types_and_dims() -> None:
    source = model("k, r = my.Rows(x) m = Neg(k) y = Cast <to = 1> (m)", result="float[N] y, float[M, 6] r")
    told: list[Any] = []

    def shapes(x: onnxloom.TensorInfo) -> list[Any]:
        told.append(x)
        assert x.shape is not None
        return [(np.int64, x.shape[:1]), (x.dtype, (x.shape[0] * 2, x.shape[1] + 3))]

    made = session(
        source, "Rows", lambda x: (np.arange(len(x)), np.zeros((2 * len(x), 6), np.float32)), shapes
    )
    y, r = made.run(None, {"x": X})
    assert y.tolist() == [0, -1] and r.shape == (4, 6)
    assert told[-1].dtype == np.float32 and told[-1].shape[1] == 3
    assert made.model.artifact.notes == (("my.Rows", "a function of the caller runs it"),)  # Neg is a kernel


def test_a_sequence_is_a_list_and_nothing_is_told_of_it() -> None:
    told: list[Any] = []

    def shapes(s: Any) -> Any:
        told.append(s)
        return np.float32, (None, 3)

    source = model("s = SequenceConstruct(x, x) r = my.Second(s) y = Neg(r)")
    np.testing.assert_array_equal(run(source, "Second", lambda s: s[1], shapes)[0], -X)
    assert told and set(told) == {None}


def test_a_function_of_numba() -> None:
    @numba.njit
    def fn(x: Any, by: Any) -> Any:
        x[0, 0] = 100  # its own copy
        return x * np.float32(by)

    (y,) = run(SCALED, "Scale", fn)
    expected = np.maximum(X, 0)
    expected[0, 0] = 100
    np.testing.assert_array_equal(y, expected * 2 + X)


def test_functions_do_not_write_to_their_inputs() -> None:
    def fn(x: Any, by: float) -> Any:
        x += 1
        return x

    with pytest.raises(
        onnxloom.CustomOpError, match=r"my.Scale: its function raised ValueError: .*read-only"
    ):
        run(SCALED, "Scale", fn)


IN_BRANCH = model(
    """c = ReduceMax <keepdims = 0> (x)
    b = Greater(c, x0)
    y = If (b) <
        then_branch = t () => (float[N,3] u) { u = my.Scale <by = 3.0> (x) },
        else_branch = e () => (float[N,3] v) { v = Neg(x) }
    >
    x0 = Constant <value = float {0}> ()""",
)
IN_LOOP = model(
    """n = Constant <value = int64 {3}> ()
    t = Constant <value = bool {1}> ()
    y = Loop (n, t, x) <
        body = b (int64 i, bool c, float[N,3] s) => (bool d, float[N,3] r) {
            d = Identity(c)
            r = my.Scale <by = 2.0> (s)
        }
    >"""
)
IN_FUNCTION = model(
    "y = f.Twice(x)",
    rest="""<domain: "f", opset_import: ["" : 21, "my" : 1]> Twice (a) => (c) {
        b = my.Scale <by = 2.0> (a)
        c = my.Scale <by = 2.0> (b)
    }""",
)


@pytest.mark.parametrize(("source", "factor"), [(IN_LOOP, 8), (IN_FUNCTION, 4)], ids=["Loop", "function"])
def test_inside_of_bodies_and_functions(source: bytes, factor: int) -> None:
    np.testing.assert_array_equal(run(source, "Scale", scale)[0], factor * X)


def test_inside_of_branches() -> None:
    source = onnx.load_from_string(IN_BRANCH)
    constant = source.graph.node[-1]
    del source.graph.node[-1]
    source.graph.node.insert(0, constant)
    made = session(source.SerializeToString(), "Scale", scale)
    np.testing.assert_array_equal(made.run(None, {"x": X})[0], 3 * X)
    np.testing.assert_array_equal(made.run(None, {"x": -abs(X)})[0], abs(X))


def test_inside_of_a_graph_that_python_runs() -> None:
    source = model(
        """s = SequenceConstruct(x, x)
        m = SequenceMap (s) <body = b (float[N,3] a) => (float[N,3] c) { c = my.Scale <by = 2.0> (a) }>
        y = ConcatFromSequence <axis = 0> (m)""",
        result="float[M,3] y",
    )
    np.testing.assert_array_equal(run(source, "Scale", scale)[0], np.concatenate([2 * X, 2 * X]))
    with pytest.raises(onnxloom.UnsupportedOpError, match="op Scale of domain my"):
        onnxloom.InferenceSession(source)


@pytest.mark.parametrize("source", [SCALED, IN_LOOP, IN_FUNCTION])
def test_an_op_that_nobody_runs_is_told_before_anything_runs(source: bytes) -> None:
    message = (
        r"^an unnamed node: op Scale of domain my \(opset 1\) is not supported; a custom op would run it"
    )
    with pytest.raises(onnxloom.UnsupportedOpError, match=message):
        onnxloom.InferenceSession(source)


def named() -> bytes:
    proto = onnx.load_from_string(SCALED)
    proto.graph.node[1].name = "the node"
    return proto.SerializeToString()


def raises(*_: Any, **__: Any) -> Any:
    raise KeyError("inside")


@pytest.mark.parametrize(
    ("fn", "shape_fn", "message"),
    [
        (raises, None, r'^my.Scale "the node": its function raised KeyError: \'inside\'$'),
        (scale, raises, r"node 'the node' \(Scale\): its shape function raised KeyError: 'inside'$"),
        (scale, lambda x, by: 3, r"'the node'.* gave 3; expected a pair"),
        (scale, lambda x, by: (x.dtype, (-1, 3)), r"'the node'.* gave .*; expected a pair"),
        (lambda x, by: (), None, r'^my.Scale "the node": its function gave no output 0; the node lists 1$'),
        (
            lambda x, by: x.astype(np.int64),
            None,
            r'^my.Scale "the node": its function gave int64, but float32',
        ),
    ],
    ids=["raises", "shape raises", "no types", "negative dim", "no output", "other kind"],
)
def test_errors_name_the_node(fn: Any, shape_fn: Any, message: str) -> None:
    with pytest.raises(onnxloom.CustomOpError, match=message):
        run(named(), "Scale", fn, shape_fn)


@pytest.mark.parametrize(
    ("fn", "found"),
    [
        (lambda x, by: x[:, :2], "[2, 2]"),
        (lambda x, by: np.zeros((5, 3), np.float32), "[5, 3]"),  # N is that of the input, which has 2
        (lambda x, by: x[0], "[3]"),
    ],
)
@pytest.mark.parametrize("source", [named(), SCALED])
def test_another_shape_than_the_shape_function_told_is_an_error(source: bytes, fn: Any, found: str) -> None:
    message = f"output 0 has shape {found}; its shape function says [2, 3]"
    with pytest.raises(onnxloom.CustomOpError, match=re.escape(message)):
        run(source, "Scale", fn, same)


def test_another_shape_than_the_model_declares_is_an_error() -> None:
    declared = onnx.ModelProto.FromString(named())
    declared.graph.value_info.append(onnx.helper.make_tensor_value_info("b", 1, [7, 3]))
    with pytest.raises(onnxloom.ModelError, match=r'"the node".* has shape \[2, 3\]; .* declares \[7, 3\]'):
        run(declared.SerializeToString(), "Scale", scale)


def test_dims_that_the_shape_function_leaves_open_may_be_any() -> None:
    source = model("b = my.Scale (x) y = Neg(b)", result="float[M,3] y")
    (y,) = run(source, "Scale", lambda x: x[:1], lambda x: (x.dtype, (None, x.shape[1])))
    np.testing.assert_array_equal(y, -X[:1])
    (y,) = run(source, "Scale", lambda x: x[:1], lambda x: (x.dtype, None))
    np.testing.assert_array_equal(y, -X[:1])


def test_what_is_said_of_an_output_that_the_node_leaves_out_does_not_count() -> None:
    source = model(", b = my.Scale (x) y = Neg(b)")
    for first in (None, X[:1], [X]):
        (y,) = run(source, "Scale", lambda x, first=first: (first, x), lambda x: [x, x])
        np.testing.assert_array_equal(y, -X)


class NoArray:
    def __array__(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("not one")


def test_what_a_function_gives_for_a_tensor_is_an_array() -> None:
    with pytest.raises(onnxloom.CustomOpError, match=r'"the node": output 0 is a list; expected an array'):
        run(named(), "Scale", lambda x, by: [x], same)
    with pytest.raises(onnxloom.CustomOpError, match="its function gave a NoArray that is no array: not one"):
        run(SCALED, "Scale", lambda x, by: NoArray())


def test_a_list_where_the_model_declares_a_tensor_does_not_reach_a_kernel() -> None:
    declared = onnx.ModelProto.FromString(SCALED)
    declared.graph.value_info.append(onnx.helper.make_tensor_value_info("b", 1, ["N", 3]))
    with pytest.raises(
        onnxloom.ModelError, match=r"my.Scale: .* is no tensor; .* declares a tensor of shape"
    ):
        run(declared.SerializeToString(), "Scale", lambda x, by: [x])


def test_a_shape_function_that_raises_on_the_shapes_of_a_run() -> None:
    def shapes(x: onnxloom.TensorInfo, by: float) -> onnxloom.TensorInfo:
        if x.shape is not None and isinstance(x.shape[0], int):
            raise KeyError("rows")
        return x

    with pytest.raises(
        onnxloom.CustomOpError, match=r"the node.*: its shape function raised KeyError: 'rows'"
    ):
        run(named(), "Scale", scale, shapes)


@pytest.mark.parametrize("domain", ["", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training"])
def test_ops_of_the_standard_are_not_taken_over(domain: str) -> None:
    with pytest.raises(onnxloom.InputError, match=r"\.Relu: ops of the standard cannot be taken over"):
        onnxloom.SessionOptions().register_custom_op(domain, "Relu", scale)
    with pytest.raises(onnxloom.InputError, match=r"\.Relu: ops of the standard cannot be taken over"):
        onnxloom.CustomOp(domain, "Relu", scale)


def test_another_precision_is_rounded() -> None:
    (y,) = run(SCALED, "Scale", lambda x, by: x.astype(np.float64) * by)
    np.testing.assert_array_equal(y, np.maximum(X, 0) * 2 + X)


def test_the_shape_function_may_need_a_rank_that_only_a_run_tells() -> None:
    source = model(
        "r = Reshape(x, s) y = my.Scale <by = 2.0> (r)", "float[N,3] x, int64[K] s", "float[A,B] y"
    )
    (y,) = run(
        source, "Scale", scale, lambda x, by: (x.dtype, (x.shape[0], x.shape[1])), x=X, s=np.array([3, 2])
    )
    np.testing.assert_array_equal(y, 2 * X.reshape(3, 2))


def test_constants_are_not_computed_with_functions_that_may_change() -> None:
    source = model("c = Constant <value = float[3] {1, 2, 3}> () d = my.Count(c) y = Add(x, d)")
    calls: list[int] = []

    def count(c: Any) -> Any:
        calls.append(1)
        return c * len(calls)

    made = session(source, "Count", count)
    zero = np.zeros((1, 3), np.float32)
    assert [made.run(None, {"x": zero})[0].tolist() for _ in range(2)] == [[[1, 2, 3]], [[2, 4, 6]]]


def test_each_session_has_its_own_functions() -> None:
    one, two = session(SCALED, "Scale", scale), session(SCALED, "Scale", lambda x, by: -x)
    (a,), (b,) = one.run(None, {"x": X}), two.run(None, {"x": X})
    np.testing.assert_array_equal(a, np.maximum(X, 0) * 2 + X)
    np.testing.assert_array_equal(b, X - np.maximum(X, 0))


def test_a_known_op_of_another_domain_can_be_taken_over() -> None:
    source = parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> '
        "g (float[N] x) => (float[N] y) { y = com.microsoft.QuickGelu(x) }"
    )
    options = onnxloom.SessionOptions()
    options.register_custom_op("com.microsoft", "QuickGelu", lambda x: x + 1)
    assert onnxloom.InferenceSession(source, options).run(None, {"x": np.zeros(2, np.float32)})[
        0
    ].tolist() == [1, 1]


def test_to_check_a_model_takes_its_functions_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin, source = tmp_path / "my_ops.py", tmp_path / "m.onnx"
    plugin.write_text(PLUGIN)
    source.write_bytes(named())
    command = ["check", str(source), "--dim", "N=2"]
    assert main([*command, "--load-plugin", str(plugin)]) == 0
    capsys.readouterr()
    assert main(command) == 1
    assert 'my.Scale "the node": nothing here runs Scale of my' in capsys.readouterr().err


def test_messages_call_it_by_its_own_name() -> None:
    described = [describe(o) for o in import_model(named()).walk() if o.name == "onnx.Custom"]
    assert described == ['my.Scale "the node"']


def test_compile_takes_objects() -> None:
    made = onnxloom.compile(SCALED, custom_ops=[onnxloom.CustomOp("my", "Scale", scale)])
    np.testing.assert_array_equal(made(X)[0], np.maximum(X, 0) * 2 + X)
    with pytest.raises(onnxloom.InputError, match="custom_ops holds 3"):
        onnxloom.compile(SCALED, custom_ops=[3])  # pyright: ignore[reportArgumentType]


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(onnxloom.InputError, match=r"custom op my.Scale: got 3; expected a function"):
        onnxloom.SessionOptions().register_custom_op("my", "Scale", 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(onnxloom.InputError, match=r"custom op my.Scale: got 'f'; expected a function"):
        onnxloom.CustomOp("my", "Scale", scale, "f")  # pyright: ignore[reportArgumentType]
    for domain, name in ((None, "Scale"), ("my", ""), ("my", 3)):
        with pytest.raises(onnxloom.InputError, match="expected a domain and a name as texts"):
            onnxloom.CustomOp(domain, name, scale)  # pyright: ignore[reportArgumentType]


def test_a_file_needs_the_functions_again(tmp_path: Path) -> None:
    ops = [onnxloom.CustomOp("my", "Scale", scale)]
    path = tmp_path / "m.loom"
    onnxloom.compile(SCALED, custom_ops=ops).save(path)
    expected = np.maximum(X, 0) * 2 + X
    np.testing.assert_array_equal(onnxloom.load(path, custom_ops=ops)(X)[0], expected)
    options = onnxloom.SessionOptions()
    options.register_custom_op("my", "Scale", scale)
    np.testing.assert_array_equal(onnxloom.InferenceSession(path, options).run(None, {"x": X})[0], expected)
    with pytest.raises(onnxloom.UnsupportedOpError, match=r"my.Scale: .*custom_ops="):
        onnxloom.load(path)
    bare = onnxloom.compile(SCALED, custom_ops=ops)
    bare(X)
    assert bare.variants == [] or bare.artifact.open_ranks
    bare.save(path)
    np.testing.assert_array_equal(onnxloom.load(path, custom_ops=ops)(X)[0], expected)
    with pytest.raises(onnxloom.InputError, match="compiled again elsewhere"):
        onnxloom.compile(SCALED, custom_ops=ops).save(path, source=SCALED)


PLUGIN = """
import numpy as np
import onnxloom

scale = onnxloom.CustomOp("my", "Scale", lambda x, by: x * np.float32(by), lambda x, by: x)
"""


def test_a_plug_in_may_hold_them(tmp_path: Path) -> None:
    plugin = tmp_path / "my_ops.py"
    plugin.write_text(PLUGIN)
    path = tmp_path / "m.loom"
    with use_plugins([plugin]):
        made = onnxloom.InferenceSession(SCALED)
        made.model.save(path)
        np.testing.assert_array_equal(onnxloom.load(path)(X)[0], np.maximum(X, 0) * 2 + X)
    np.testing.assert_array_equal(made.run(None, {"x": X})[0], np.maximum(X, 0) * 2 + X)
    with pytest.raises(onnxloom.UnsupportedOpError):
        onnxloom.InferenceSession(SCALED)


def test_the_command_line_takes_such_a_plug_in(tmp_path: Path) -> None:
    plugin, source = tmp_path / "my_ops.py", tmp_path / "m.onnx"
    plugin.write_text(PLUGIN)
    source.write_bytes(SCALED)
    np.savez(tmp_path / "in.npz", x=X)
    command = [sys.executable, "-m", "onnxloom.tools.cli", "run", str(source)]
    command += ["--inputs", str(tmp_path / "in.npz"), "--load-plugin", str(plugin), "--outputs", "out.npz"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["y"], np.maximum(X, 0) * 2 + X)
