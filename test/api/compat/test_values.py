"""Values, bindings and what sessions tell of themselves: the same answers as from onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto
from text_models import model_of

import onnxloom
from onnxloom.capi import onnxruntime_pybind11_state as state

TEXT = """g (float[batch, 3] x, float[batch, 3] b) => (float[batch, 3] y, float[batch, 3] z) {
    y = Add(x, b)
    z = Neg(y)
}"""
MODEL = model_of(TEXT)
MODEL.producer_name, MODEL.model_version, MODEL.domain = "someone", 7, "a.domain"
MODEL.doc_string, MODEL.graph.doc_string = "what it does", "what the graph does"
MODEL.metadata_props.add(key="k", value="v")
BYTES = MODEL.SerializeToString()
X = np.arange(6, dtype=np.float32).reshape(2, 3)
ONE = np.ones((2, 3), np.float32)

Question = Callable[[Any, Any], Any]
"""Given the module and a session of it."""


def value(ort: Any, array: Any = X) -> Any:
    return ort.OrtValue.ortvalue_from_numpy(array)


def described(found: Any) -> Any:
    kinds = (found.is_tensor(), found.is_tensor_sequence(), found.is_sparse_tensor(), found.has_value())
    return found.shape(), found.data_type(), found.element_type(), found.device_name(), *kinds


def bound(ort: Any, session: Any) -> Any:
    """What a binding goes through: rebinding, memory of the caller's, values."""
    binding = session.io_binding()
    seen: list[Any] = []

    def run() -> None:
        session.run_with_iobinding(binding)
        seen.append([output.numpy().tolist() for output in binding.get_outputs()])
        seen.append([array.tolist() for array in binding.copy_outputs_to_cpu()])

    binding.bind_cpu_input("x", X)
    binding.bind_ortvalue_input("b", value(ort, ONE))
    binding.bind_output("z")
    run()
    binding.bind_output("y", "cpu")
    run()
    memory = np.zeros((2, 3), np.float32)
    binding.bind_output("y", "cpu", 0, np.float32, (2, 3), memory.ctypes.data)
    own = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32, "cpu", 0)
    binding.bind_ortvalue_output("z", own)
    run()
    seen.append([memory.tolist(), own.numpy().tolist()])
    binding.bind_input("x", "cpu", 0, TensorProto.FLOAT, [2, 3], ONE.ctypes.data)
    binding.synchronize_inputs()
    run()
    binding.synchronize_outputs()
    seen.append([memory.tolist(), own.numpy().tolist(), len(binding.get_outputs_as_ortvaluevector())])
    binding.clear_binding_outputs()
    binding.clear_binding_inputs()
    return seen


def updated(ort: Any, session: Any) -> Any:
    first, second = value(ort, X.copy()), value(ort, ONE)
    first.update_inplace(ONE * 3)
    seen = [first.numpy().tolist()]
    first.update_inplace(np.asfortranarray(X))
    seen.append(first.numpy().tolist())
    first.update_inplace(second)
    return [*seen, first.numpy().tolist()]


def vector(ort: Any, session: Any) -> Any:
    fetches = ort.capi.onnxruntime_pybind11_state.OrtValueVector()
    feeds = ort.capi.onnxruntime_pybind11_state.OrtValueVector()
    for array in (X, ONE):
        feeds.push_back(value(ort, array)._get_c_value())
    device = ort.OrtDevice.make("cpu", 0)._get_c_device()
    session.run_with_ortvaluevector(ort.RunOptions(), ["x", "b"], feeds, ["z"], fetches, [device])
    return len(fetches), ort.OrtValue(fetches[0]).numpy().tolist(), fetches.element_type_at(0)


def meta(ort: Any, session: Any) -> Any:
    found = session.get_modelmeta()
    names = ("producer_name", "version", "domain", "description", "graph_name", "graph_description")
    return [getattr(found, name) for name in names], found.custom_metadata_map


def numbers(kind: Any) -> dict[str, int]:
    return {name: int(member) for name, member in kind.__members__.items()}


ENUMS = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "ModelPackageWriteMode",
    "OrtAllocatorType",
    "OrtDeviceMemoryType",
    "OrtDeviceVendorId",
    "OrtExecutionProviderDevicePolicy",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfoDeviceType",
    "OrtSparseFormat",
]

QUESTIONS: dict[str, Question] = {
    "a tensor": lambda ort, _: described(value(ort)),
    "a tensor of integers": lambda ort, _: described(value(ort, np.zeros((0, 2), np.int64))),
    "a scalar": lambda ort, _: described(value(ort, np.array(3.0))),
    "booleans": lambda ort, _: described(value(ort, np.array([True]))),
    "memory is shared": lambda ort, _: (
        np.shares_memory(value(ort).numpy(), X),
        value(ort).data_ptr() == X.ctypes.data,
        value(ort).tensor_size_in_bytes(),
    ),
    "an array in another order": lambda ort, _: value(ort, X.T).numpy().tolist(),
    "a tensor by shape": lambda ort, _: described(
        ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.int32)
    ),
    "a tensor by number": lambda ort, _: described(
        ort.OrtValue.ortvalue_from_shape_and_type([2], TensorProto.BFLOAT16)
    ),
    "bits of bfloat16": lambda ort, _: described(
        ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(2, np.uint16), TensorProto.BFLOAT16)
    ),
    "another library's tensor": lambda ort, _: ort.OrtValue.from_dlpack(X.copy()).numpy().tolist(),
    "tensors for another library": lambda ort, _: np.from_dlpack(value(ort, X.copy())).tolist(),
    "updates": updated,
    "bindings": bound,
    "values in a dict": lambda ort, session: [
        output.tolist() for output in session.run(None, {"x": value(ort), "b": ONE})
    ],
    "values in and out": lambda ort, session: [
        described(output) for output in session.run_with_ort_values(["z"], {"x": value(ort), "b": value(ort)})
    ],
    "all values out": lambda ort, session: [
        output.numpy().tolist()
        for output in session.run_with_ort_values(None, {"x": value(ort), "b": value(ort)})
    ],
    "a vector of values": vector,
    "a session's own value": lambda ort, session: described(
        session.create_ortvalue_from_shape_and_type([2, 3], np.float32, "cpu")
    ),
    "metadata": meta,
    "inputs": lambda ort, session: [str(arg) for arg in (*session.get_inputs(), *session.get_outputs())],
    "providers": lambda ort, session: (
        session.get_providers(),
        session.get_provider_options(),
        session.get_tuning_results(),
        session.end_profiling(),
        session.get_profiling_start_time_ns(),
        len(session.get_input_epdevices()),
        [info.name for info in session.get_input_memory_infos()],
        [info.allocator_type.name for info in session.get_output_memory_infos()],
    ),
    "things without effect": lambda ort, session: (
        session.disable_fallback(),
        session.enable_fallback(),
        session.set_ep_dynamic_options({"a": "b"}),
        session.release_captured_graph(),
        ort.disable_telemetry_events(),
        ort.enable_telemetry_events(),
        ort.set_default_logger_verbosity(0),
        ort.set_seed(3),
    ),
    "the process": lambda ort, _: (
        ort.get_device(),
        ort.has_collective_ops(),
        ort.get_version_string(),
        ort.cuda_version,
        ort.import_capi_exception,
        "CPUExecutionProvider" in ort.get_available_providers(),
        "CPUExecutionProvider" in ort.get_all_providers(),
        ort.get_ep_devices()[0].ep_name,
        ort.get_ep_devices()[0].device.type.name,
    ),
    "devices": lambda ort, _: [
        (made := ort.OrtDevice.make(name, 0)).device_type() * 100 + made.device_id()
        for name in ("cpu", "cuda", "gpu", "npu", "dml", "cann")
    ],
    "entries": lambda ort, _: (
        (options := ort.SessionOptions()).add_session_config_entry("a", "b"),
        options.get_session_config_entry("a"),
        (run_options := ort.RunOptions()).add_run_config_entry("c", "d"),
        run_options.get_run_config_entry("c"),
        options.has_providers(),
    ),
    "numbers": lambda ort, _: [numbers(getattr(ort, name)) for name in ENUMS],
    "names of levels": lambda ort, _: str(ort.GraphOptimizationLevel.ORT_ENABLE_ALL),
}


@pytest.fixture(scope="module")
def sessions() -> dict[Any, Any]:
    return {ort: ort.InferenceSession(BYTES) for ort in (onnxruntime, onnxloom)}


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_the_same(name: str, sessions: dict[Any, Any]) -> None:
    question = QUESTIONS[name]
    assert question(onnxloom, sessions[onnxloom]) == question(onnxruntime, sessions[onnxruntime])


@pytest.mark.parametrize("kind", ["SessionOptions", "RunOptions"])
def test_options_have_the_same_defaults(kind: str) -> None:
    theirs, ours = getattr(onnxruntime, kind)(), getattr(onnxloom, kind)()
    names = [n for n in dir(theirs) if not n.startswith("_") and not callable(getattr(theirs, n))]
    assert names

    def values(options: Any) -> dict[str, Any]:
        found = {name: getattr(options, name) for name in names}
        return {name: int(value) if hasattr(value, "name") else value for name, value in found.items()}

    assert values(ours) == values(theirs)


def test_tensors_are_copied_into_others() -> None:
    found = onnxloom.OrtValue.ortvalue_from_numpy(X.copy())
    onnxloom.copy_tensors([onnxloom.OrtValue.ortvalue_from_numpy(ONE)], [found])
    assert found.numpy().tolist() == ONE.tolist()


def test_sequences_and_maps_are_values() -> None:
    model = model_of("g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x, x) }")
    session = onnxloom.InferenceSession(model)
    (found,) = session.run_with_ort_values(
        None, {"x": onnxloom.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32))}
    )
    assert found.is_tensor_sequence() and not found.is_tensor()
    assert (found.data_type(), found.element_type()) == ("seq(tensor(float))", 1)
    assert [item.tolist() for item in found.numpy()] == [[0, 0], [0, 0]]
    for ask in (found.shape, found.data_ptr, found.tensor_size_in_bytes, found.to_dlpack):
        with pytest.raises(onnxloom.UsageError, match="only a tensor has"):
            ask()
    for held, text in [({3: 0.5}, "map(int64,tensor(double))"), (None, "none"), ([], "seq()")]:
        assert onnxloom.OrtValue(held).data_type() == text
        with pytest.raises(onnxloom.UsageError, match="no elements of one type"):
            onnxloom.OrtValue(held).element_type()
    assert not onnxloom.OrtValue(None).has_value()


def test_a_sequence_is_taken_as_a_value() -> None:
    model = model_of("g (seq(float[N]) s) => (float[M] y) { y = ConcatFromSequence <axis = 0> (s) }")
    value = onnxloom.OrtValue([np.ones(2, np.float32), np.zeros(1, np.float32)])
    assert onnxloom.InferenceSession(model).run(None, {"s": value})[0].tolist() == [1, 1, 0]


def test_bits_of_a_type_that_numpy_lacks() -> None:
    value = onnxloom.OrtValue.ortvalue_from_numpy_with_onnx_type(
        np.array([0x3F80], np.uint16), TensorProto.BFLOAT16
    )
    assert value.numpy().dtype == ml_dtypes.bfloat16 and value.numpy().tolist() == [1.0]
    with pytest.raises(onnxloom.UsageError, match="do not have the size"):
        onnxloom.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(1, np.uint8), TensorProto.BFLOAT16)
    with pytest.raises(onnxloom.InputError, match="no element type 99"):
        onnxloom.OrtValue.ortvalue_from_shape_and_type([1], 99)
    with pytest.raises(onnxloom.InputError, match="'foo' is no element type"):
        onnxloom.OrtValue.ortvalue_from_shape_and_type([1], "foo")


def test_what_cannot_be_bound_is_told_at_once() -> None:
    session, other = onnxloom.InferenceSession(BYTES), onnxloom.InferenceSession(BYTES)
    binding = session.io_binding()
    with pytest.raises(onnxloom.UsageError, match="the model has no input 'zz'; it has 'x', 'b'"):
        binding.bind_cpu_input("zz", X)
    for name in ("x", "b"):
        binding.bind_cpu_input(name, X)
    binding.bind_output("y")
    with pytest.raises(onnxloom.InputError, match="run by the session that made it"):
        other.run_with_iobinding(binding)
    session.run_with_iobinding(binding)


def test_what_is_no_tensor_and_no_device() -> None:
    with pytest.raises(onnxloom.InputError, match=r"tensors have no elements of dtype datetime64\[s\]"):
        onnxloom.OrtValue.ortvalue_from_numpy(np.zeros(1, "M8[s]"))
    assert onnxloom.OrtValue(np.zeros(1, "M8[s]")).data_type() == "tensor(datetime64[s])"
    with pytest.raises(onnxloom.InputError, match="Unsupported device type: foo"):
        onnxloom.OrtDevice.make("foo", 0)


def test_texts_are_values() -> None:
    value = onnxloom.OrtValue.ortvalue_from_shape_and_type([2], TensorProto.STRING)
    assert value.numpy().tolist() == ["", ""] and value.data_type() == "tensor(string)"
    value.update_inplace(np.array(["a", "b"], object))
    assert value.numpy().tolist() == ["a", "b"]


def test_values_that_do_not_fit_are_not_copied() -> None:
    value = onnxloom.OrtValue.ortvalue_from_numpy(X.copy())
    for array in (np.zeros(5, np.float32), np.zeros((2, 3))):
        with pytest.raises(onnxloom.UsageError, match="does not fit into one of 6 elements"):
            value.update_inplace(array)
    assert value.numpy().tolist() == X.tolist()
    with pytest.raises(onnxloom.UsageError, match="a int cannot be taken through DLPack"):
        onnxloom.OrtValue.from_dlpack(3)


def test_memory_that_an_output_does_not_fit_stays_as_it_is() -> None:
    session = onnxloom.InferenceSession(BYTES)
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("b", X)
    first, second = np.full((2, 3), 7, np.float32), np.full((2, 3), 7, np.float64)
    binding.bind_output("y", "cpu", 0, np.float32, (2, 3), first.ctypes.data)
    binding.bind_output("z", "cpu", 0, np.float64, (2, 3), second.ctypes.data)
    with pytest.raises(
        onnxloom.UsageError, match=r"'z' is bound to memory for float64\[2, 3\], but is float32"
    ):
        session.run_with_iobinding(binding)
    assert (first == 7).all() and (second == 7).all()
    for shape, address in [((2, -3), 8), ((2, 3), 0)]:
        with pytest.raises(onnxloom.UsageError, match="there is no memory for"):
            binding.bind_output("y", "cpu", 0, np.float32, shape, address)


def test_what_is_read_only_is_not_written_to() -> None:
    array = X.copy()
    array.flags.writeable = False
    value = onnxloom.OrtValue.ortvalue_from_numpy(array)
    with pytest.raises(onnxloom.UsageError, match="the memory of the tensor is read-only"):
        value.update_inplace(ONE)
    binding = onnxloom.InferenceSession(BYTES).io_binding()
    with pytest.raises(onnxloom.UsageError, match="output 'y': the memory it is bound to is read-only"):
        binding.bind_ortvalue_output("y", value)


def test_empty_tensors_are_bound() -> None:
    session = onnxloom.InferenceSession(BYTES)
    binding = session.io_binding()
    for name in ("x", "b"):
        binding.bind_input(name, "cpu", 0, np.float32, (0, 3), 0)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert binding.get_outputs()[0].shape() == [0, 3]


UNFIT = [
    lambda: onnxloom.OrtValue.ortvalue_from_shape_and_type([-1, 3], np.float32),
    lambda: onnxloom.OrtValue.ortvalue_from_shape_and_type([2**40, 2**40], np.float32),
    lambda: onnxloom.OrtValue.ortvalue_from_shape_and_type(["N"], np.float32),  # pyright: ignore[reportArgumentType]
    lambda: onnxloom.OrtValue.ortvalue_from_numpy_with_onnx_type([1], 1),
    lambda: onnxloom.InferenceSession(BYTES).run_async(None, {"x": X, "b": X}, 3, None),  # pyright: ignore[reportArgumentType]
]


@pytest.mark.parametrize("use", UNFIT)
def test_what_does_not_fit_is_a_typed_error(use: Callable[[], object]) -> None:
    with pytest.raises(onnxloom.UsageError):
        use()


REFUSED = [
    lambda: onnxloom.LoraAdapter(),
    lambda: onnxloom.SparseTensor(),
    lambda: onnxloom.SparseTensor.sparse_coo_from_numpy([3], X, X, None),
    lambda: onnxloom.ModelCompiler(None, b""),
    lambda: onnxloom.register_execution_provider_library("a", "b"),
    lambda: onnxloom.unregister_execution_provider_library("a"),
    lambda: onnxloom.OrtValue(X).as_sparse_tensor(),
    lambda: onnxloom.OrtValue.ort_value_from_sparse_tensor(None),
    lambda: onnxloom.RunOptions().add_active_adapter(None),
    lambda: onnxloom.InferenceSession(BYTES).get_provider_graph_assignment_info(),
]


@pytest.mark.parametrize("use", REFUSED)
def test_what_is_not_there_says_so(use: Callable[[], object]) -> None:
    with pytest.raises(onnxloom.UnsupportedFeatureError) as caught:
        use()
    assert isinstance(caught.value, state.NotImplemented | RuntimeError)
