"""Options of sessions and runs do what they do in onnxruntime."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from sessions import ADD, options, rows
from text_models import model_of

import onnxloom

W = np.array([1, 2], np.float32)
WEIGHTED = model_of(
    "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"
).SerializeToString()
ZERO = np.zeros(2, np.float32)
SLOW = model_of(
    """g (int64 n, float[64, 64] x) => (float[64, 64] y) {
        t = Constant <value = bool {1}> ()
        y = Loop (n, t, x) <body = b (int64 i, bool c, float[64, 64] s) => (bool d, float[64, 64] r) {
            d = Identity(c)
            m = MatMul(s, s)
            r = Sigmoid(m)
        }>
    }"""
)


# Dims


def test_a_named_dim_is_a_number_in_inputs_and_outputs() -> None:
    given = options()
    given.add_free_dimension_override_by_name("batch", 4)
    given.add_free_dimension_override_by_name("nowhere", 5)
    session = onnxloom.InferenceSession(ADD.SerializeToString(), given)
    assert [arg.shape for arg in (*session.get_inputs(), *session.get_outputs())] == [[4, 3]] * 3
    assert session.run(None, rows(4))[0].shape == (4, 3)
    with pytest.raises(onnxloom.InputError, match="expected dim 0 to be 4"):
        session.run(None, rows(2))


def test_a_dim_is_found_by_its_denotation_and_others_of_its_name_follow() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(ADD)
    model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    given = options()
    given.add_free_dimension_override_by_denotation("DATA_BATCH", 4)
    session = onnxloom.InferenceSession(model.SerializeToString(), given)
    assert [arg.shape for arg in (*session.get_inputs(), *session.get_outputs())] == [[4, 3]] * 3
    other = options()
    other.add_free_dimension_override_by_denotation("DATA_CHANNEL", 4)
    assert onnxloom.InferenceSession(model, other).get_inputs()[0].shape == ["batch", 3]


def test_dims_that_are_set_settle_what_depends_on_them() -> None:
    """Without the dim the rank of the result is not known, and Python squeezes."""
    model = model_of(
        """g (float[N, 3] x) => (float[M] y) {
            s = Shape(x) i = Constant <value = int64 {0}> () n = Gather(s, i)
            one = Constant <value = int64 {1}> () c = Equal(n, one)
            y = If (c) <
                then_branch = t () => (float[K] u) { u = Squeeze(x) },
                else_branch = e () => (float[L] v) {
                    m = Constant <value = int64[1] {-1}> () v = Reshape(x, m)
                }
            >
        }"""
    )
    given = options()
    given.add_free_dimension_override_by_name("N", 1)
    session = onnxloom.InferenceSession(model, given)
    x = np.arange(3, dtype=np.float32).reshape(1, 3)
    assert session.run(None, {"x": x})[0].tolist() == [0, 1, 2]
    assert session.host_steps == 0


def test_dims_of_ir_cannot_be_set(tmp_path: Path) -> None:
    from onnxloom.conversion.onnx_import import import_model

    given = options()
    given.add_free_dimension_override_by_name("batch", 4)
    with pytest.raises(onnxloom.InputError, match="for ONNX models only"):
        onnxloom.InferenceSession(import_model(ADD), given)


# Initializers


def test_an_initializer_is_replaced() -> None:
    given = options()
    given.add_initializer("w", onnxloom.OrtValue.ortvalue_from_numpy(10 * W))
    given.add_initializer("another model's", onnxloom.OrtValue.ortvalue_from_numpy(W))
    for _ in range(2):
        assert onnxloom.InferenceSession(WEIGHTED, given).run(None, {"x": ZERO})[0].tolist() == [10, 20]
    assert onnxloom.InferenceSession(WEIGHTED).run(None, {"x": ZERO})[0].tolist() == [1, 2]


def test_what_is_no_tensor_is_no_initializer() -> None:
    with pytest.raises(onnxloom.UsageError, match="initializer 'w' is a str; expected an OrtValue"):
        options().add_initializer("w", "text")


@pytest.mark.parametrize("array", [np.zeros(3, np.float32), np.zeros(2)])
def test_an_initializer_keeps_its_type_and_shape(array: Any) -> None:
    given = options()
    given.add_initializer("w", array)
    with pytest.raises(onnxloom.ModelError, match=r"initializer 'w' is float\[2\]; it cannot be replaced by"):
        onnxloom.InferenceSession(WEIGHTED, given)


def external(offset: int = 0, length: int | None = 8) -> bytes:
    model = onnx.load_from_string(WEIGHTED)
    tensor = model.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entries = {"location": "w.bin", "offset": offset, **({} if length is None else {"length": length})}
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=str(value))
    return model.SerializeToString()


def test_external_initializers_are_given() -> None:
    given = options()
    given.add_external_initializers(["w"], [onnxloom.OrtValue.ortvalue_from_numpy(10 * W)])
    assert onnxloom.InferenceSession(external(), given).run(None, {"x": ZERO})[0].tolist() == [10, 20]
    with pytest.raises(onnxloom.ModelError, match="no initializer 'w' with its data in another file"):
        onnxloom.InferenceSession(WEIGHTED, given)
    other = options()
    other.add_external_initializers(["v"], [W])
    with pytest.raises(onnxloom.ModelError, match="no initializer 'v'"):
        onnxloom.InferenceSession(external(), other)
    with pytest.raises(onnxloom.UsageError, match="1 names of initializers for 0 tensors"):
        given.add_external_initializers(["w"], [])
    with pytest.raises(onnxloom.UsageError, match="initializer 'w' is a str"):
        given.add_external_initializers(["w"], ["text"])


@pytest.mark.parametrize(("offset", "length"), [(0, 8), (4, 8), (4, None)])
def test_files_of_external_data_are_given_in_memory(offset: int, length: int | None) -> None:
    data = bytes(offset) + (10 * W).tobytes()
    given = options()
    given.add_external_initializers_from_files_in_memory(
        ["w.bin", "other.bin"], [data, b"abc"], [len(data), 3]
    )
    session = onnxloom.InferenceSession(external(offset, length), given)
    assert session.run(None, {"x": ZERO})[0].tolist() == [10, 20]


def test_files_that_are_not_in_memory_are_read(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes((10 * W).tobytes())
    given = options()
    given.add_external_initializers_from_files_in_memory(["other.bin"], [bytes(8)], [8])
    given.add_session_config_entry("session.model_external_initializers_file_folder_path", str(tmp_path))
    assert onnxloom.InferenceSession(external(), given).run(None, {"x": ZERO})[0].tolist() == [10, 20]


def test_files_in_memory_that_do_not_fit() -> None:
    given = options()
    with pytest.raises(onnxloom.UsageError, match="1 names, 1 files and 0 lengths"):
        given.add_external_initializers_from_files_in_memory(["w.bin"], [b""], [])
    given.add_external_initializers_from_files_in_memory(["w.bin"], [bytes(4)], [4])
    with pytest.raises(onnxloom.ModelError, match="'w' is 8 bytes from 0 on of a file of 4 bytes"):
        onnxloom.InferenceSession(external(), given)


def test_a_config_entry_names_the_folder_of_external_data(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes((10 * W).tobytes())
    given = options()
    given.add_session_config_entry("session.model_external_initializers_file_folder_path", str(tmp_path))
    assert onnxloom.InferenceSession(external(), given).run(None, {"x": ZERO})[0].tolist() == [10, 20]


# What is written


def test_the_optimized_model_is_written(tmp_path: Path) -> None:
    path = tmp_path / "o.onnx"
    model = model_of("g (float[N] x) => (float[N] y) { a = Identity(x) b = Identity(a) y = Relu(b) }", 17)
    onnxloom.InferenceSession(model, options(optimized_model_filepath=path))
    written = onnx.load(path)
    assert [node.op_type for node in written.graph.node] == ["Relu"]
    assert onnxruntime.InferenceSession(path).run(None, {"x": -np.ones(2, np.float32)})[0].tolist() == [0, 0]


def test_the_optimized_model_of_a_stream_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(ADD, path)
    with path.open("rb") as file, pytest.raises(onnxloom.InputError, match="of a stream cannot be written"):
        onnxloom.InferenceSession(file, options(optimized_model_filepath=tmp_path / "o.onnx"))


# Runs


@pytest.mark.parametrize("threads", [1, 2])
def test_results_of_a_run_in_the_background_reach_the_callback(threads: int) -> None:
    session = onnxloom.InferenceSession(ADD, options(intra_op_num_threads=threads))
    done, told = threading.Event(), []

    def callback(results: list[Any], user_data: Any, error: str) -> None:
        told.append((results, user_data, error, threading.current_thread()))
        done.set()

    session.run_async(["y"], rows(2), callback, {"a": 1})
    assert done.wait(30)
    results, user_data, error, thread = told.pop()
    assert results[0].tolist() == [[2, 2, 2]] * 2 and user_data == {"a": 1} and error == ""
    assert thread is not threading.current_thread()
    done.clear()
    session.run_async(None, {"x": np.ones(3, np.float32), "b": np.ones((2, 3), np.float32)}, callback, 5)
    assert done.wait(30)
    results, user_data, error, _ = told.pop()
    assert results == [] and user_data == 5 and "input 'x': expected rank 2" in error


def test_a_callback_that_raises_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    done = threading.Event()

    def hook(args: Any) -> None:
        shown.append(args.exc_value)
        done.set()

    monkeypatch.setattr(threading, "excepthook", hook)

    def callback(*_: Any) -> None:
        raise KeyError("mine")

    onnxloom.InferenceSession(ADD).run_async(None, rows(1), callback, None)
    assert done.wait(30)
    assert str(shown[0]) == "'mine'"


def test_a_run_is_terminated_from_another_thread() -> None:
    session = onnxloom.InferenceSession(SLOW, options(log_severity_level=3))
    run_options = onnxloom.RunOptions()
    feeds = {"n": np.array(10**9), "x": np.zeros((64, 64), np.float32)}
    timer = threading.Timer(0.5, lambda: setattr(run_options, "terminate", True))
    timer.start()
    with pytest.raises(onnxloom.TerminatedError):
        session.run(None, feeds, run_options)
    timer.join()
    feeds["n"] = np.array(1)
    assert (session.run(None, feeds)[0] == 0.5).all()
    assert (session.run(None, feeds, onnxloom.RunOptions())[0] == 0.5).all()


def test_severity_says_whether_host_steps_are_told_of() -> None:
    model = model_of("g (float[N] x) => (string[N] y) { y = Cast <to = 8> (x) }")
    feeds = {"x": np.ones(2, np.float32)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        onnxloom.InferenceSession(model, options(log_severity_level=3)).run(None, feeds)
        onnxloom.set_default_logger_severity(4)
        try:
            onnxloom.InferenceSession(model).run(None, feeds)
        finally:
            onnxloom.set_default_logger_severity(2)
    with pytest.warns(onnxloom.HostStepWarning):
        onnxloom.InferenceSession(model).run(None, feeds)
    with pytest.raises(onnxloom.InputError, match="severity is 5"):
        onnxloom.set_default_logger_severity(5)


def test_disabled_optimizers_are_left_out() -> None:
    model = model_of(
        "g (float[N] x) => (float[N] y) { c = Constant <value = float {2}> () d = Exp(c) y = Mul(x, d) }"
    )
    plain = onnxloom.InferenceSession(model)
    kept = onnxloom.InferenceSession(model, disabled_optimizers={"ConstantFolding", "MatMulAddFusion"})
    x = np.ones(3, np.float32)
    np.testing.assert_allclose(plain.run(None, {"x": x})[0], kept.run(None, {"x": x})[0], rtol=1e-6)
    assert plain.get_session_options().compile_options().fold
    assert not plain.get_session_options().compile_options(["ConstantFolding"]).fold
    assert plain.get_session_options().compile_options(["fuse-ops"]).skip_passes == ("fuse-ops",)


def test_initializers_that_inputs_override_still_can_be() -> None:
    tensor = numpy_helper.from_array(W, "w")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "w")],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        [tensor],
    )
    given = options()
    given.add_initializer("w", 10 * W)
    session = onnxloom.InferenceSession(helper.make_model(graph, ir_version=10).SerializeToString(), given)
    assert [arg.name for arg in session.get_overridable_initializers()] == ["w"]
    assert session.run(None, {"x": ZERO})[0].tolist() == [10, 20]
    assert session.run(None, {"x": ZERO, "w": 5 * W})[0].tolist() == [5, 10]
