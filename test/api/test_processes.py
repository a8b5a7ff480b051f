"""Threads, forks, interrupts and warm starts. Each case that ends a process has one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from text_models import compiled, model_of

GRAPH = """agraph (float[N, 64] x, float[64, 64] w) => (float[N, 64] y) {
    a = MatMul(x, w)
    b = Tanh(a)
    c = MatMul(b, w)
    y = Add(c, x)
}"""


def python(code: str, cache: Path, timeout: float = 120) -> str:
    """Standard output of a process that runs `code`."""
    environment = {**os.environ, "ONNXLOOM_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    rng = np.random.default_rng(0)
    proto = model_of("""agraph (float[N, 64] x) => (float[N, 64] y) {
        a = MatMul(x, w)
        b = Tanh(a)
        y = Mul(b, a)
    }""")
    w = rng.standard_normal((64, 64)).astype(np.float32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    onnx.save(proto, path)
    return path


RUN = """
import sys, numpy as np, onnxloom
s = onnxloom.InferenceSession({path!r})
y = s.run(None, {{"x": np.ones(({rows}, 64), np.float32)}})[0]
heavy = [m for m in ("onnx", "xdsl", "numba") if m in sys.modules]
print(float(y.astype(np.float64).sum()), s.host_steps, *heavy)
"""


def test_importing_the_package_imports_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys, onnxloom; print([m for m in ('onnx','xdsl','numba','llvmlite') if m in sys.modules])"
    assert python(code, tmp_path).strip() == "[]"


def test_a_second_process_imports_and_compiles_nothing(model_file: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = python(RUN.format(path=str(model_file), rows=3), cache).split()
    assert first[2:] == ["onnx", "xdsl"]
    kernels = sorted(p.name for p in cache.iterdir())
    second = python(RUN.format(path=str(model_file), rows=3), cache).split()
    assert second == [first[0], first[1]]
    assert sorted(p.name for p in cache.iterdir()) == kernels


def test_a_shape_the_stored_plan_does_not_know(model_file: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    python(RUN.format(path=str(model_file), rows=3), cache)
    warm = python(RUN.format(path=str(model_file), rows=5), cache).split()
    cold = python(RUN.format(path=str(model_file), rows=5), tmp_path / "other").split()
    assert warm[0] == cold[0]


GATHER = """
import sys, numpy as np, onnxloom
s = onnxloom.compile({path!r})
x = np.arange(3, dtype=np.float32)
print(s(x, np.array([2, 0]))[0].tolist())
try:
    print(s(x, np.array([2, 3])))
except onnxloom.InputError as error:
    print(error)
print([m for m in ("onnx", "xdsl", "numba") if m in sys.modules])
"""


def test_a_second_process_still_checks_indices(tmp_path: Path) -> None:
    path = tmp_path / "gather.onnx"
    proto = model_of("agraph (float[N] x, int64[K] i) => (float[K] y) { y = Gather(x, i) }")
    proto.graph.node[0].name = "pick"
    onnx.save(proto, path)
    python(GATHER.format(path=str(path)), tmp_path)
    assert python(GATHER.format(path=str(path)), tmp_path).splitlines() == [
        "[2.0, 0.0]",
        'Gather "pick": index 3 is out of range for a dim of 3',
        "[]",
    ]


def test_a_damaged_entry_is_compiled_again(model_file: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = python(RUN.format(path=str(model_file), rows=3), cache).split()[0]
    plans = list(cache.glob("plan-*"))
    assert len(plans) == 1
    plans[0].write_bytes(plans[0].read_bytes()[:-100])
    assert python(RUN.format(path=str(model_file), rows=3), cache).split()[0] == first


def test_a_changed_model_is_not_taken_from_the_cache(model_file: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = python(RUN.format(path=str(model_file), rows=3), cache).split()[0]
    proto = onnx.load(model_file)
    w = onnx.numpy_helper.to_array(proto.graph.initializer[0])
    proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(w * 2, "w"))
    onnx.save(proto, model_file)
    assert python(RUN.format(path=str(model_file), rows=3), cache).split()[0] != first


def test_threads_that_share_a_session_get_their_own_results() -> None:
    model = compiled(GRAPH)
    rng = np.random.default_rng(0)
    w = rng.standard_normal((64, 64)).astype(np.float32) / 8
    inputs = [rng.standard_normal((n, 64)).astype(np.float32) for n in (7, 7, 33, 33)]
    expected = [model(x, w)[0].copy() for x in inputs]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(200):
            if not np.array_equal(model(inputs[number], w)[0], expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_can_run_and_compile_shapes(tmp_path: Path) -> None:
    code = f"""
import os, signal, numpy as np, onnxloom, onnx.parser, threading
model = onnxloom.compile(onnx.parser.parse_model({_text()!r}))
w = np.eye(64, dtype=np.float32)
model(np.ones((2, 64), np.float32), w)
holder = threading.Thread(target=model._engine.lock.acquire)  # as if it were filling a plan at the fork
holder.start()
holder.join()
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    y = model(np.ones((9, 64), np.float32), w)[0]
    os._exit(0 if y.shape == (9, 64) else 1)
print(os.waitpid(pid, 0)[1])
"""
    assert python(code, tmp_path).strip() == "0"


def _text() -> str:
    return f'<ir_version: 10, opset_import: ["" : 21]> {GRAPH}'


@pytest.mark.unchecked(reason="products of this size take minutes")
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_an_interrupt_ends_a_long_run(tmp_path: Path) -> None:
    code = """
import os, signal, threading, numpy as np, onnxloom, onnx.helper as h
names = ["x"] + [f"v{i}" for i in range(200)]
nodes = [h.make_node("MatMul", [a, "w"], [b]) for a, b in zip(names, names[1:])]
x, w = np.zeros((1024, 512), np.float32), np.zeros((512, 512), np.float32)
inputs = [h.make_tensor_value_info(n, 1, a.shape) for n, a in (("x", x), ("w", w))]
graph = h.make_graph(nodes, "g", inputs, [h.make_tensor_value_info(names[-1], 1, x.shape)])
model = onnxloom.compile(h.make_model(graph, opset_imports=[h.make_opsetid("", 21)]))
model(x, w)
# A shell starts what runs in the background with this signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        model(x, w)
except KeyboardInterrupt:
    print("interrupted")
assert model(x, w)[0].shape == x.shape
"""
    assert python(code, tmp_path).strip() == "interrupted"
