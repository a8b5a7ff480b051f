"""Compiling: one object for all that is missing, everything else from the cache, no matter its state."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.errors import PassError
from onnxloom.lowering import compile_kernels as module
from onnxloom.lowering.cache import DiskCache, KernelCache
from onnxloom.lowering.compile_kernels import compile_kernels, kernel_digest
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.kernel_library import LinkError, load_library
from onnxloom.lowering.object_symbols import undefined_symbols
from onnxloom.tools.testing.kernels import call, elementwise_kernel, elementwise_text, parse_kernels


def _scale(name: str, factor: float) -> KernelOp:
    body = f"%c = arith.constant {factor} : f32 %r = arith.mulf %a, %c : f32"
    return elementwise_kernel(name, ["f32"], "f32", body)


def _run(address: int) -> float:
    x, y = np.array([3.0], np.float32), np.zeros(1, np.float32)
    call(address, x, y, 1)
    return float(y[0])


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of the kernels of each compilation."""
    log: list[list[str]] = []
    real = module.compile_missing

    def spy(kernels: dict[str, KernelOp], target: CpuTarget | None) -> bytes:
        log.append([kernel.sym_name.data for kernel in kernels.values()])
        return real(kernels, target)

    monkeypatch.setattr(module, "compile_missing", spy)
    return log


def test_all_kernels_go_into_one_object(compiled: list[list[str]]):
    library = compile_kernels([_scale("two", 2.0), _scale("four", 4.0)])
    assert len(library.objects) == 1
    assert compiled == [["two", "four"]]
    assert _run(library.address("two")) == 6.0
    assert _run(library.address("four")) == 12.0


def test_kernels_of_the_same_content_are_compiled_once(compiled: list[list[str]]):
    library = compile_kernels([_scale("left", 2.0), _scale("right", 2.0)])
    assert len(compiled[0]) == 1
    assert library.address("left") == library.address("right")


def test_the_same_kernels_can_be_compiled_twice_in_one_process():
    first, second = compile_kernels([_scale("k", 5.0)]), compile_kernels([_scale("k", 5.0), _scale("l", 6.0)])
    assert _run(first.address("k")) == _run(second.address("k")) == 15.0
    assert _run(second.address("l")) == 18.0


def test_compiling_leaves_the_kernel_as_it_is():
    kernel = elementwise_kernel("k", ["f32"], "f32", "%r = math.exp %a : f32")
    before = str(kernel)
    compile_kernels([kernel])
    assert str(kernel) == before


def test_cached_kernels_are_not_compiled_again(tmp_path: Path, compiled: list[list[str]]):
    cache = KernelCache(DiskCache(tmp_path))
    compile_kernels([_scale("a", 2.0), _scale("b", 3.0)], cache=cache)
    library = compile_kernels([_scale("other_name", 3.0), _scale("c", 4.0)], cache=cache)
    assert compiled == [["a", "b"], ["c"]]
    assert _run(library.address("other_name")) == 9.0
    assert _run(library.address("c")) == 12.0


def test_damaged_entries_are_compiled_again(tmp_path: Path, compiled: list[list[str]]):
    cache = KernelCache(DiskCache(tmp_path))
    for _ in range(2):
        assert _run(compile_kernels([_scale("a", 2.0)], cache=cache).address("a")) == 6.0
    assert len(compiled) == 1
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    for _ in range(2):
        assert _run(compile_kernels([_scale("a", 2.0)], cache=cache).address("a")) == 6.0
    assert len(compiled) == 2


def test_an_entry_whose_object_went_is_compiled_again(tmp_path: Path, compiled: list[list[str]]):
    cache = KernelCache(DiskCache(tmp_path))
    compile_kernels([_scale("a", 2.0)], cache=cache)
    for path in tmp_path.glob("object-*"):
        path.unlink()
    compile_kernels([_scale("a", 2.0)], cache=cache)
    assert len(compiled) == 2


def test_an_object_that_does_not_link_is_compiled_again(tmp_path: Path, compiled: list[list[str]]):
    kernel = _scale("a", 2.0)
    cache = KernelCache(DiskCache(tmp_path))
    wrong = compile_kernels([_scale("b", 3.0)]).objects[0]
    cache.store([kernel_digest(kernel)], wrong)
    assert _run(compile_kernels([kernel], cache=cache).address("a")) == 6.0
    compile_kernels([kernel], cache=cache)
    assert len(compiled) == 2  # b, then a; the last time a comes from the cache


def test_missing_symbols_are_an_error_not_the_end_of_the_process():
    data = compile_kernels([elementwise_kernel("k", ["f64"], "f64", "%r = math.erf %a : f64")]).objects[0]
    needed = undefined_symbols(data)
    if needed is None:
        pytest.skip("not an ELF object")
    assert "erf" in needed
    with pytest.raises(LinkError, match="qqq"):
        load_library([data.replace(b"\0erf\0", b"\0qqq\0")], {})
    with pytest.raises(LinkError, match="loom_nothing"):
        load_library([data], {"k": "loom_nothing"})
    with pytest.raises(LinkError):
        load_library([data[:200]], {})


def test_an_op_that_kernels_may_not_hold_is_named():
    text = elementwise_text("k", ["f32"], [("f32", "{r} = arith.addf %a, %a : f32")])
    text = text.replace("scf.for", '%view = "memref.cast"(%as) : (memref<?xf32>) -> memref<4xf32> scf.for', 1)
    with pytest.raises(PassError, match=r"memref\.cast"):
        compile_kernels(parse_kernels(text))


def test_a_microkernel_without_a_tuned_form_is_its_reference_loop():
    text = """
    "loom.kernel"() <{sym_name = "k", access = ["read", "write"]}> ({
    ^bb0(%x: memref<?xf32>, %y: memref<?xf32>, %n: index):
      "loom.microkernel"(%x, %y, %n) <{kind = "no_such_tile", params = {rows = 4 : i64}}> ({
      ^bb1(%a: memref<?xf32>, %b: memref<?xf32>, %m: index):
        %c0 = arith.constant 0 : index
        %v = memref.load %a[%c0] : memref<?xf32>
        %w = arith.addf %v, %v : f32
        memref.store %w, %b[%c0] : memref<?xf32>
        "loom.end"() : () -> ()
      }) : (memref<?xf32>, memref<?xf32>, index) -> ()
      "loom.end"() : () -> ()
    }) : () -> ()
    """
    library = compile_kernels(parse_kernels(text))
    assert _run(library.address("k")) == 6.0


def test_several_threads_may_compile():
    results: dict[int, float] = {}

    def work(number: int) -> None:
        library = compile_kernels([_scale("k", float(number)), _scale("same", 7.0)])
        results[number] = _run(library.address("k")) + _run(library.address("same"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: 3.0 * n + 21.0 for n in range(1, 5)}


_LOADER = """
import pickle, sys
import numpy as np
from onnxloom.lowering.kernel_library import load_library
from onnxloom.lowering.executor import Executor
objects, symbols, run_objects = pickle.load(open(sys.argv[1], "rb"))
library, executor = load_library(objects, symbols), Executor.from_objects(run_objects)
results = {}
for name in symbols:
    x, y = np.array([0.3, 0.6]), np.zeros(2)
    table = np.array([library.address(name), 0, 0, 0, x.ctypes.data, y.ctypes.data, 2], np.int64)
    executor.run(table.ctypes.data, np.zeros(1, np.int64).ctypes.data, 0, 1)
    results[name] = y
foreign = sorted({"numba", "xdsl", "onnx"} & set(sys.modules))
pickle.dump((results, foreign), open(sys.argv[2], "wb"))
"""
_LIBRARY_FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "atanh", "erf", "cbrt", "round", "roundeven", "floor",
)  # fmt: skip


def test_a_fresh_process_needs_neither_numba_nor_xdsl_and_finds_the_math_library(tmp_path: Path):
    from onnxloom.lowering.executor import load_executor

    kernels = [elementwise_kernel(n, ["f64"], "f64", f"%r = math.{n} %a : f64") for n in _LIBRARY_FUNCTIONS]
    kernels.append(elementwise_kernel("powf", ["f64"], "f64", "%r = math.powf %a, %a : f64"))
    library = compile_kernels(kernels)
    stored, result = tmp_path / "stored", tmp_path / "result"
    content = (library.objects, library.symbols, load_executor().objects)
    stored.write_bytes(pickle.dumps(content))
    subprocess.run([sys.executable, "-c", _LOADER, stored, result], check=True, timeout=120)
    outputs: tuple[dict[str, Any], list[str]] = pickle.loads(result.read_bytes())
    values, foreign = outputs
    assert foreign == []
    x = np.array([0.3, 0.6])
    for name, function in {"exp": np.exp, "sin": np.sin, "cbrt": np.cbrt, "log1p": np.log1p}.items():
        np.testing.assert_allclose(values[name], function(x), rtol=1e-15)
    np.testing.assert_allclose(values["powf"], x**x, rtol=1e-15)
    assert set(values) == {*_LIBRARY_FUNCTIONS, "powf"}


_FORK = """
import os, sys
import numpy as np
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.tools.testing.kernels import call, elementwise_kernel

def square(name, factor):
    body = f"%c = arith.constant {factor} : f32 %r = arith.mulf %a, %c : f32"
    return elementwise_kernel(name, ["f32"], "f32", body)

def run(library):
    x, y = np.array([3.0], np.float32), np.zeros(1, np.float32)
    call(library.address("k"), x, y, 1)
    return float(y[0])

before = compile_kernels([square("k", 2.0)])
child = os.fork()
if child == 0:
    after = compile_kernels([square("k", 5.0)])
    os._exit(0 if (run(before), run(after)) == (6.0, 15.0) else 1)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status) or run(before) != 6.0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_a_forked_process_runs_and_compiles():
    subprocess.run([sys.executable, "-c", _FORK], check=True, timeout=120)


_FIFTY = """
import time
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.tools.testing.kernels import elementwise_kernel
kernels = []
for k in range(50):
    function = ("exp", "tanh", "erf", "log", "sqrt")[k % 5]
    body = f"%c = arith.constant {k}.5 : f32 %s = arith.mulf %a, %c : f32 %r = math.{function} %s : f32"
    kernels.append(elementwise_kernel(f"k{k}", ["f32"], "f32", body))
start = time.process_time()
compile_kernels(kernels)
print(time.process_time() - start)
"""


@pytest.mark.full
def test_fifty_kernels_compile_in_three_seconds_of_cpu_time():
    done = subprocess.run([sys.executable, "-c", _FIFTY], check=True, capture_output=True, timeout=120)
    assert float(done.stdout) < 3.0
