"""Are weights held by reference, printed as keys, and found again?"""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.printer import Printer

from onnxloom.dialects.onnx import (
    ConstantOp,
    WeightsAttr,
    WeightsPlace,
    constant_value,
    make_constant,
    weights_attr,
)
from onnxloom.dialects.onnx.text import parse_module, print_module
from onnxloom.dialects.onnx.weights_file import MAGIC, WeightsWriter
from onnxloom.dialects.onnx.weights_source import weights_source
from onnxloom.errors import ModelError

Array = np.ndarray[Any, Any]
W = np.arange(256, dtype=np.float32).reshape(16, 16)


def save_model(path: Path, **weights: Array) -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [16])
    node = helper.make_node("Identity", ["x"], ["y"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [16])
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    model = helper.make_model(helper.make_graph([node], "g", [x], [y], tensors))
    path.write_bytes(model.SerializeToString())
    return path


def constant(attr: str) -> str:
    return f"func.func @f() {{\n  %0 = onnx.Constant {attr}\n  onnx.Return\n}}\n"


def value_in(module: ModuleOp) -> Array:
    (op,) = (op for op in module.walk() if isinstance(op, ConstantOp))
    value = constant_value(op.output)
    assert value is not None
    return value


def printed(module: ModuleOp, **options: Any) -> str:
    stream = StringIO()
    print_module(module, stream, **options)
    return stream.getvalue()


def in_function(op: ConstantOp) -> ModuleOp:
    module = parse_module("func.func @f() {\n  onnx.Return\n}")
    terminator = next(op for op in module.walk() if op.name == "onnx.Return")
    assert terminator.parent is not None
    terminator.parent.insert_op_before(op, terminator)
    return module


def test_weight_of_a_model_file_prints_as_a_key_and_resolves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save_model(tmp_path / "m.onnx", w=W)
    monkeypatch.chdir(tmp_path)
    module = in_function(make_constant(weights_attr(W, WeightsPlace("m.onnx", "w"))))
    text = printed(module)
    assert '#onnx.weights<"m.onnx", "w" : tensor<16x16xf32>>' in text
    assert (value_in(parse_module(text)) == W).all()
    assert printed(parse_module(text)) == text


def test_key_is_looked_for_beside_the_text(tmp_path: Path):
    save_model(tmp_path / "m.onnx", w=W)
    text = tmp_path / "m.mlir"
    text.write_text(constant('#onnx.weights<"m.onnx", "w" : tensor<16x16xf32>>'))
    assert (value_in(parse_module(text)) == W).all()


def test_key_is_looked_for_in_given_sources(tmp_path: Path):
    model = save_model(tmp_path / "m.onnx", w=W)
    text = constant('#onnx.weights<"m.onnx", "w" : tensor<16x16xf32>>')
    for source in (model, tmp_path):
        with weights_source(source):
            module = parse_module(text)
        assert (value_in(module) == W).all()


@pytest.mark.parametrize(
    ("attr", "problem"),
    [
        ('#onnx.weights<"absent.onnx", "w" : tensor<16x16xf32>>', "absent.onnx, which is not there"),
        ('#onnx.weights<"m.onnx", "v" : tensor<16x16xf32>>', "m.onnx has no weights named 'v'"),
        ('#onnx.weights<"m.onnx", "w" : tensor<4xf32>>', r"float32\[16, 16\]; expected tensor<4xf32>"),
        ('#onnx.weights<"m.onnx", [64, 1024] : tensor<16x16xf32>>', "not a weights file"),
        ('#onnx.weights<"memory", "0x1" : tensor<16x16xf32>>', "in the memory of a process"),
        ("dense_resource<__elided__> : tensor<16x16xf32>", "dense_resource<__elided__> are not in the text"),
        (
            f'#onnx.weights<"m.onnx", "w", "sha256:{"0" * 64}" : tensor<16x16xf32>>',
            "not those the text was made",
        ),
    ],
)
def test_key_that_resolves_to_nothing_fails_when_data_are_needed(tmp_path: Path, attr: str, problem: str):
    save_model(tmp_path / "m.onnx", w=W)
    text = tmp_path / "m.mlir"
    text.write_text(constant(attr))
    module = parse_module(text)
    module.verify()
    assert parse_module(printed(module)) is not None
    with pytest.raises(ModelError, match=problem) as caught:
        value_in(module)
    assert "\n" not in str(caught.value)


def test_weights_in_memory_are_printed_inline():
    text = printed(in_function(make_constant(W)))
    assert 'dense<"0x' in text
    assert (value_in(parse_module(text)) == W).all()


def test_weights_in_memory_go_to_a_weights_file(tmp_path: Path):
    path = tmp_path / "out.weights"
    with WeightsWriter(path) as writer:
        text = printed(in_function(make_constant(W)), weights_out=writer)
        same = writer.add(W.copy())
    assert f'#onnx.weights<"{path}", [64, 1024] : tensor<16x16xf32>>' in text
    assert same.key == (64, 1024)
    with weights_source(tmp_path):
        value = value_in(parse_module(text))
    assert (value == W).all()
    assert not value.flags.writeable


def test_a_weights_file_is_not_replaced_before_the_next_is_complete(tmp_path: Path):
    path = tmp_path / "out.weights"
    path.write_bytes(MAGIC + b"old")
    with pytest.raises(RuntimeError), WeightsWriter(path) as writer:
        writer.add(W)
        raise RuntimeError
    assert path.read_bytes() == MAGIC + b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.weights"]


@pytest.mark.parametrize("content", [b"old", MAGIC[:-1], b"onnxloom weights 2\n".ljust(64, b"\0")])
def test_a_file_of_another_kind_is_never_replaced(tmp_path: Path, content: bytes):
    path = tmp_path / "out.weights"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="is no weights file"):
        WeightsWriter(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("key", [(0, 16), (64, 15), (64, 1 << 40), (1 << 40, 16)])
def test_range_outside_a_weights_file_is_refused(tmp_path: Path, key: tuple[int, int]):
    path = tmp_path / "w.weights"
    path.write_bytes(MAGIC + b"\0" * 32)
    attr = f'#onnx.weights<"{path}", [{key[0]}, {key[1]}] : tensor<4xf32>>'
    with weights_source(tmp_path):
        module = parse_module(constant(attr))
    with pytest.raises(ModelError, match="bytes"):
        value_in(module)


def test_elided_weights_print_without_data_and_parse():
    text = printed(in_function(make_constant(W)), elide_weights=True)
    assert "dense_resource<__elided__> : tensor<16x16xf32>" in text
    parse_module(text).verify()


def test_stock_printer_names_memory_and_the_name_resolves_in_this_process():
    op = make_constant(W)
    stream = StringIO()
    Printer(stream=stream).print_op(in_function(op))
    assert '#onnx.weights<"memory", "' in stream.getvalue()
    assert (value_in(parse_module(stream.getvalue())) == W).all()


def test_name_of_memory_that_is_gone_never_means_other_data():
    """Arrays come to lie where an earlier one was."""
    texts = [str(weights_attr(np.full(200, number, np.float32))) for number in range(100)]
    kept = [weights_attr(np.full(200, number, np.float32)) for number in range(100)]
    assert len({*texts, *map(str, kept)}) == 200
    with pytest.raises(ModelError, match="a process that let go of them"):
        value_in(parse_module(constant(texts[0])))


def test_name_of_memory_with_another_type_is_refused():
    op = make_constant(W)
    text = str(op.value).replace("tensor<16x16xf32>", "tensor<256xf32>")
    with pytest.raises(ModelError, match=r"float32\[16, 16\]; expected tensor<256xf32>"):
        value_in(parse_module(constant(text)))


def test_digest_is_printed_when_known_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save_model(tmp_path / "m.onnx", w=W)
    monkeypatch.chdir(tmp_path)
    attr = weights_attr(W, WeightsPlace("m.onnx", "w"))
    digest = attr.digest()
    text = printed(in_function(make_constant(attr)))
    assert f'"sha256:{digest}"' in text
    assert (value_in(parse_module(text)) == W).all()


def test_equal_means_same_memory_or_same_place():
    copy = W.copy()
    assert weights_attr(W) == weights_attr(W)
    assert hash(weights_attr(W)) == hash(weights_attr(W))
    assert weights_attr(W) != weights_attr(copy)
    assert weights_attr(W) != weights_attr(W, tensor_type=TensorType(f32, [256]))
    place = WeightsPlace("m.onnx", "w")
    assert weights_attr(W, place) == weights_attr(copy, place)
    assert weights_attr(W).array().base is not None
    assert np.shares_memory(weights_attr(W).array(), W)


def test_left_out_resources_are_not_equal():
    text = constant("dense_resource<__elided__> : tensor<200xf32>")
    attrs = [
        op.value
        for module in (parse_module(text), parse_module(text))
        for op in module.walk()
        if isinstance(op, ConstantOp)
    ]
    assert isinstance(attrs[0], WeightsAttr)
    assert attrs[0] != attrs[1]


def test_printing_hashing_cloning_and_failing_cost_nothing_with_a_500_mb_weight():
    """Under 100 ms and 50 MB each; in a process of its own, to measure memory."""
    program = """
        import io, resource
        import numpy as np
        from xdsl.printer import Printer
        from onnxloom.dialects.onnx import AddOp, WeightsPlace, make_constant, weights_attr
        from onnxloom.dialects.onnx.access import make
        from onnxloom.dialects.onnx.text import parse_module, print_module

        module = parse_module("func.func @f() { onnx.Return }")
        end = next(op for op in module.walk() if op.name == "onnx.Return")
        array = np.zeros(131_072_000, np.float32)
        ops = [make_constant(array), make_constant(weights_attr(array, WeightsPlace("m.onnx", "w")))]
        small = make_constant(np.int64([1]))
        bad = make(AddOp, [ops[0].output, small.output], [ops[0].output.type])
        end.parent.insert_ops_before([*ops, small, bad], end)

        def verify():
            try:
                module.verify()
            except Exception as error:
                assert "onnx.Add: operand B" in str(error), error
                assert len(str(error)) < 1000
            else:
                raise SystemExit("no error")

        Printer(stream=io.StringIO()).print_op(module)  # imports
        verify()
        for name, step in {
            "hash": lambda: [hash(op.value) for op in ops],
            "equal": lambda: [op.value == other.value for op in ops for other in ops],
            "print": lambda: Printer(stream=io.StringIO()).print_op(module),
            "elide": lambda: print_module(module, io.StringIO(), elide_weights=True),
            "clone": lambda: module.clone(),
            "str": lambda: [str(op) for op in module.walk()],
            "verify": verify,
        }.items():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            step()
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            if grown > 50_000:
                raise SystemExit(f"{name}: {grown / 1000:.0f} MB")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_external_data_are_found_through_the_model_that_names_them(tmp_path: Path):
    tensor = numpy_helper.from_array(W, "w")
    (tmp_path / "w.bin").write_bytes(b"\0" * 64 + tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "w.bin", "offset": "64", "length": str(W.nbytes)}.items():
        tensor.external_data.add(key=key, value=value)
    value_info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [16])
    graph = helper.make_graph([], "g", [value_info], [value_info], [tensor])
    (tmp_path / "m.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    text = tmp_path / "m.mlir"
    text.write_text(constant('#onnx.weights<"m.onnx", "w" : tensor<16x16xf32>>'))
    assert (value_in(parse_module(text)) == W).all()
    elsewhere = shutil.copytree(tmp_path, tmp_path / "copy")
    (elsewhere / "w.bin").unlink()
    with pytest.raises(ModelError, match="w.bin"):
        value_in(parse_module(elsewhere / "m.mlir"))


def test_weights_of_a_file_that_is_written_anew_are_kept(tmp_path: Path):
    path = tmp_path / "w"
    text = tmp_path / "m.mlir"
    for array in (W, W + 1):
        module = ModuleOp([make_constant(weights_attr(array))])
        if text.exists():
            module.body.block.add_op(parse_module(text).body.block.first_op.clone())  # pyright: ignore[reportOptionalMemberAccess]
        with WeightsWriter(path) as writer:
            text.write_text(printed(module, weights_out=writer))
    arrays = [constant_value(op.output) for op in parse_module(text).walk() if isinstance(op, ConstantOp)]
    np.testing.assert_array_equal(arrays[0], W + 1)  # pyright: ignore[reportArgumentType]
    np.testing.assert_array_equal(arrays[1], W)  # pyright: ignore[reportArgumentType]
