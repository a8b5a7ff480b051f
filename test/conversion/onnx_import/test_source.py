"""Any source gives the same module; damaged ones give one line that names the file."""

from __future__ import annotations

import gzip
import io
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx as onnx_package
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_import import import_model
from onnxloom.conversion.onnx_import.wire import cut_raw_data
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import print_module
from onnxloom.errors import ModelError, OnnxloomError

WEIGHT = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)


def small_model(weight: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = WEIGHT) -> ModelProto:
    branches = [
        helper.make_graph(
            [helper.make_node(op, ["h"], [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
        )
        for op, name in (("Relu", "then"), ("Neg", "else"))
    ]
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"], name="product"),
            helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1]),
        ],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 40]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 40])],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    helper.set_model_props(model, {"author": 'a "b"\n', "": "empty"})
    return model


def weight_of(module: ModuleOp) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    array = next(onnx.constant_value(op.output) for op in module.walk() if isinstance(op, onnx.ConstantOp))
    assert array is not None
    return array


def text_of(module: ModuleOp) -> str:
    stream = io.StringIO()
    print_module(module, stream, elide_weights=True)
    return stream.getvalue()


def test_all_sources_give_the_same_model(tmp_path: Path) -> None:
    model = small_model()
    data = model.SerializeToString()
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    with open(path, "rb") as file:
        modules = [import_model(s) for s in (path, str(path), data, bytearray(data), model, file)]
    modules.append(import_model(io.BytesIO(data)))
    exported = [export_model(module).SerializeToString(deterministic=True) for module in modules]
    assert len(set(exported)) == 1
    for module in modules:
        np.testing.assert_array_equal(weight_of(module), WEIGHT)
        assert not weight_of(module).flags.writeable


def test_source_proto_is_not_changed() -> None:
    model = small_model()
    before = model.SerializeToString(deterministic=True)
    import_model(model)
    assert model.SerializeToString(deterministic=True) == before


def test_metadata_names_and_symbolic_dims_survive_the_round_trip() -> None:
    model = small_model()
    exported = export_model(import_model(model))
    assert {p.key: p.value for p in exported.metadata_props} == {"author": 'a "b"\n', "": "empty"}
    assert exported.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert [i.name for i in exported.graph.input] == ["x", "c"]
    assert exported.graph.node[0].name == "product"
    assert exported.graph.initializer[0].name == "w"
    onnx_package.checker.check_model(exported)


def test_weights_are_views_of_the_given_bytes() -> None:
    data = small_model().SerializeToString()
    address = np.frombuffer(data, np.uint8).ctypes.data
    assert address <= weight_of(import_model(data)).ctypes.data < address + len(data)


def test_model_of_500_mb_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    size = 500 << 20
    model = small_model()
    model.graph.initializer[0].raw_data = b""
    model.graph.initializer[0].dims[:] = [40, size // 160]
    skeleton = model.SerializeToString()
    # The weight goes in by hand: protobuf itself would need the memory this test is about.
    _write_with_raw_data(path, skeleton, model, size)
    # In a process of its own: the peak of this one says nothing.
    done = subprocess.run([sys.executable, "-c", _MEASURE, str(path)], capture_output=True, text=True)
    seconds, megabytes, elements = map(float, done.stdout.split())
    assert elements * 4 == size
    assert seconds < 0.5
    assert megabytes < 50


_MEASURE = """
import io, resource, sys, time
from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects.onnx import ConstantOp, constant_value
from onnxloom.dialects.onnx.text import print_module
from onnx import helper
graph = helper.make_graph([], "g", [], [])
import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
module = import_model(sys.argv[1])
print_module(module, io.StringIO())
seconds = time.process_time() - start
megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
constant = next(op for op in module.walk() if isinstance(op, ConstantOp))
print(seconds, megabytes, constant_value(constant.output).size)
"""


def _write_with_raw_data(path: Path, skeleton: bytes, model: ModelProto, size: int) -> None:
    from onnxloom.conversion.onnx_import.wire import encode_varint

    def field(number: int, length: int) -> bytes:
        return encode_varint(number << 3 | 2) + encode_varint(length)

    tensor = model.graph.initializer[0].SerializeToString()
    tensor = tensor.replace(field(9, 0), b"") + field(9, size)
    graph = ModelProto.FromString(skeleton).graph
    del graph.initializer[:]
    rest = ModelProto.FromString(skeleton)
    rest.ClearField("graph")
    tensor_length = len(tensor) + size
    head = field(5, tensor_length) + tensor
    body = graph.SerializeToString()
    with open(path, "wb") as file:
        file.write(rest.SerializeToString())
        file.write(field(7, len(body) + len(head) + size) + body + head)
        file.truncate(file.tell() + size)


def test_skeleton_of_a_model_without_large_tensors_is_the_model() -> None:
    data = small_model(WEIGHT[:2, :2]).SerializeToString()
    skeleton = cut_raw_data(memoryview(data), "mark")
    assert skeleton.data == data and not skeleton.ranges


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "empty"),
        (b"\0\0\0\0", "not a valid ONNX model"),
        (b"builtin.module {\n}\n", "it is text"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "a Git LFS pointer"),
        (gzip.compress(small_model().SerializeToString()), "it is compressed"),
        (b"onnxloom\x01\0\0\0", "it is a compiled model"),
        (b"\x08\x08", "no graph"),
        (small_model().SerializeToString()[:-10], "not a valid ONNX model"),
        (bytes(range(256)) * 20, "not a valid ONNX model"),
    ],
)
def test_damaged_file_is_named_in_one_line(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        import_model(path)
    assert str(caught.value).startswith(f"{path}: ") and expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_data_that_change_later_do_not_change_the_weights() -> None:
    data = bytearray(small_model().SerializeToString())
    module = import_model(data)
    data[:] = bytes(len(data))
    np.testing.assert_array_equal(weight_of(module), WEIGHT)


def test_file_opened_as_text_is_refused() -> None:
    with pytest.raises(ModelError, match="gives str; expected a file opened as binary"):
        import_model(io.StringIO("model"))  # pyright: ignore[reportArgumentType]


def test_a_model_proto_without_a_graph_is_named() -> None:
    with pytest.raises(ModelError, match="model: is not a valid ONNX model: it has no graph"):
        import_model(ModelProto())


def test_what_is_no_source_is_named() -> None:
    for source in (None, 5, small_model().graph, [b"x"]):
        with pytest.raises(ModelError, match=f"got {type(source).__name__}; expected a path"):
            import_model(source)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ModelError, match="path of bytes"):
        import_model(BytesPath())  # pyright: ignore[reportArgumentType]


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"m.onnx"


@pytest.mark.parametrize(
    ("dims", "expected"),
    [([1] * 70, "rank 70; expected at most 64"), ([0, 2**62, 2**62], "no memory can hold")],
)
@pytest.mark.parametrize("is_raw", [False, True])
def test_shapes_beyond_any_array_are_named(dims: list[int], expected: str, is_raw: bool) -> None:
    model = small_model()
    tensor = TensorProto(name="odd", data_type=TensorProto.FLOAT, dims=dims)
    if is_raw:
        tensor.raw_data = b"" if 0 in dims else bytes(4)
    elif 0 not in dims:
        tensor.float_data.append(1)
    model.graph.initializer.append(tensor)
    with pytest.raises(ModelError, match=f"initializer 'odd' has .*{expected}"):
        import_model(model)


def test_streams_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(small_model().SerializeToString())
    with open(tmp_path / "m.onnx", "rb") as closed, open(tmp_path / "w", "wb") as written:
        closed.close()
        for stream in (closed, written):
            with pytest.raises(ModelError, match="cannot be read"):
                import_model(stream)


def test_missing_file_folder_and_odd_name_are_named(tmp_path: Path) -> None:
    for path, expected in ((tmp_path / "no.onnx", "No such file"), (tmp_path, "not a regular file")):
        with pytest.raises(ModelError, match=expected):
            import_model(path)
    with pytest.raises(ModelError, match="null"):
        import_model("a\0b")


def test_damaged_bytes_give_typed_errors_only() -> None:
    data = small_model().SerializeToString()
    generator = random.Random(7)
    failed = 0
    for _ in range(300):
        damaged = bytearray(data)
        if generator.random() < 0.3:
            del damaged[generator.randrange(len(damaged)) :]
        for _ in range(generator.choice([1, 2, 8])):
            if damaged:
                # Most of the file is one weight: the names and structure are in the first bytes.
                damaged[generator.randrange(min(len(damaged), 500))] = generator.randrange(256)
        try:
            import_model(bytes(damaged))
        except OnnxloomError as error:
            failed += 1
            assert "\n" not in str(error)
    assert failed > 200
