"""A team of threads runs every task once, whatever else goes on in the process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import i64

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.loom.tasks import WorkerOp
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.executor import Executor, load_executor
from onnxloom.lowering.kernel_library import KernelLibrary
from onnxloom.lowering.plan.memory import address_of
from onnxloom.lowering.runtime import team as teams
from onnxloom.lowering.runtime.team import Team, team_executor

Run = Callable[[int, int, int, int], int]
SECONDS = 30.0


@pytest.fixture(scope="module")
def executor() -> Executor:
    return load_executor()


@pytest.fixture(scope="module")
def library() -> KernelLibrary:
    """Every task takes its time, helpers `delay` more of it; then it notes its worker and counts itself."""
    k = KernelBody("visit", [], [i64, i64, i64], 3, out_access="readwrite")
    counts, workers, spun = k.outs
    tasks, turns, delay = k.sizes
    s = k.scalars
    with k.tasks(tasks) as i:
        worker = s.emit(WorkerOp())
        with k.loop(k.add(turns, k.mul(worker, delay))) as turn:
            # Not a sum that could be computed at once.
            mixed = s.mul(k.load(spun, i), k.from_index(k.add(turn, k.index(3)), i64))
            k.store(s.add(mixed, s.const(1, i64)), spun, i)
        k.store(k.from_index(worker, i64), workers, i)
        k.store(s.add(k.load(counts, i), s.const(1, i64)), counts, i)
    return compile_kernels([k.end()])


class Table:
    """Records of the kernel above, one after the other, on arrays of their own."""

    def __init__(
        self,
        library: KernelLibrary,
        records: int,
        tasks: int,
        *,
        turns: int = 1,
        size: int = 1,
        delay: int = 0,
    ):
        self.counts = np.zeros((records, tasks), np.int64)
        self.workers = np.full((records, tasks), -1, np.int64)
        self.spun = np.zeros((records, tasks), np.int64)
        chunks = -(-tasks // size)
        self.words = np.array(
            [
                [
                    library.address("visit"),
                    chunks,
                    size,
                    1,
                    *(address_of(a[r]) for a in self._arrays),
                    tasks,
                    turns,
                    delay,
                ]
                for r in range(records)
            ],
            np.int64,
        )
        self.starts = np.arange(records, dtype=np.int64) * self.words.shape[1]

    @property
    def _arrays(self) -> list[Any]:
        return [self.counts, self.workers, self.spun]

    def run(self, run: Run) -> None:
        records = len(self.starts)
        assert run(address_of(self.words), address_of(self.starts), 0, records) == records


def _team(executor: Executor, threads: int) -> Run:
    assert executor.team is not None
    return team_executor(executor.team, threads)


def _until(condition: Callable[[], bool]) -> None:
    """Helpers come when the system lets them."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "no helper came"


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 9])
@pytest.mark.parametrize(("tasks", "size"), [(1, 1), (2, 1), (7, 3), (64, 1), (1000, 7)])
def test_every_task_runs_once(
    executor: Executor, library: KernelLibrary, threads: int, tasks: int, size: int
) -> None:
    run = _team(executor, threads)
    table = Table(library, 50, tasks, size=size)
    for _ in range(4):
        table.run(run)
    np.testing.assert_array_equal(table.counts, 4)
    assert table.workers.min() >= 0 and table.workers.max() < threads


def test_helpers_take_part(executor: Executor, library: KernelLibrary) -> None:
    run = _team(executor, 2)
    seen = set[int]()

    def both() -> bool:
        table = Table(library, 1, 64, turns=20_000)
        table.run(run)
        seen.update(table.workers.ravel().tolist())
        return seen == {0, 1}

    _until(both)


def test_a_run_ends_when_the_last_helper_is_done(executor: Executor, library: KernelLibrary) -> None:
    run = _team(executor, 2)

    def helped() -> bool:
        table = Table(library, 1, 64, turns=20_000, delay=400_000)
        table.run(run)
        np.testing.assert_array_equal(table.counts, 1)
        return bool(table.workers.max() > 0)

    for _ in range(3):
        _until(helped)


def test_helpers_that_sleep_are_woken(executor: Executor, library: KernelLibrary) -> None:
    run = _team(executor, 2)
    assert executor.team is not None
    team = teams.team_of(executor.team)
    sleepers = team.state.view(np.int64)[32:33]  # as `team_code.py` lays the state out
    Table(library, 1, 4).run(run)
    for _ in range(3):
        _until(lambda: sleepers[0] == len(team.helpers))

        def helped() -> bool:
            table = Table(library, 1, 64, turns=20_000)
            table.run(run)
            return bool(table.workers.max() > 0)

        _until(helped)


def test_helpers_are_not_woken_for_little(executor: Executor, library: KernelLibrary) -> None:
    assert executor.team is not None
    team = teams.team_of(executor.team)
    run = _team(executor, 2)
    table = Table(library, 1, 64, turns=20_000)
    table.words[:, 3] = 0
    table.run(run)
    sleepers = team.state.view(np.int64)[32:33]
    _until(lambda: sleepers[0] == len(team.helpers))
    for _ in range(20):
        table.workers[:] = -1
        table.run(run)
        np.testing.assert_array_equal(table.workers, 0)


def test_a_record_without_chunks_stays_on_the_calling_thread(
    executor: Executor, library: KernelLibrary
) -> None:
    table = Table(library, 20, 64, turns=2000)
    table.words[:, 1] = 0
    table.run(_team(executor, 4))
    np.testing.assert_array_equal(table.workers, 0)
    np.testing.assert_array_equal(table.counts, 1)


def test_records_wait_for_all_of_the_one_before(executor: Executor, library: KernelLibrary) -> None:
    """Every record goes on from what all tasks of the one before have left."""
    run = _team(executor, 3)
    expected = Table(library, 1, 40, turns=300)
    for _ in range(30):
        expected.run(executor.run)
    table = Table(library, 30, 40, turns=300)
    table.words[:] = table.words[0]  # all on the same arrays
    table.run(run)
    np.testing.assert_array_equal(table.counts[0], 30)
    np.testing.assert_array_equal(table.spun[0], expected.spun[0])


def test_runs_of_several_threads_at_once(executor: Executor, library: KernelLibrary) -> None:
    """The team serves one of them, the others are on their own."""
    run = _team(executor, 3)
    tables = [Table(library, 20, 64, turns=300) for _ in range(6)]

    def often(table: Table) -> None:
        for _ in range(20):
            table.run(run)

    threads = [threading.Thread(target=often, args=(table,)) for table in tables]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for table in tables:
        np.testing.assert_array_equal(table.counts, 20)


def test_a_busy_team_is_not_waited_for(executor: Executor, library: KernelLibrary) -> None:
    run = _team(executor, 2)
    assert executor.team is not None
    busy = teams.team_of(executor.team).state.view(np.int64)[24:25]
    Table(library, 1, 64).run(run)
    assert busy[0] == 0
    busy[0] = 1
    try:
        table = Table(library, 40, 64, turns=20_000)
        table.run(run)
    finally:
        busy[0] = 0
    np.testing.assert_array_equal(table.counts, 1)
    np.testing.assert_array_equal(table.workers, 0)


def test_fewer_threads_leave_helpers_out(executor: Executor, library: KernelLibrary) -> None:
    """Temporary memory has room for as many workers as the plan was made for."""
    Table(library, 1, 8).run(_team(executor, 8))
    run = _team(executor, 2)
    table = Table(library, 300, 64, turns=500)
    table.run(run)
    assert table.workers.max() < 2


def test_a_team_starts_helpers_once_and_when_needed(executor: Executor) -> None:
    assert executor.team is not None
    team = Team(executor.team)
    assert team.helpers == []
    team.grow(3)
    team.grow(2)
    assert len(team.helpers) == 2 and all(helper.daemon for helper in team.helpers)
    helpers = list(team.helpers)
    team.close()
    assert not any(helper.is_alive() for helper in helpers)
    team.grow(5)
    assert len(team.helpers) == 2


def test_threads_that_do_not_start_are_done_without(
    executor: Executor, library: KernelLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    assert executor.team is not None
    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(teams, "_TEAMS", {})
    table = Table(library, 3, 64)
    table.run(_team(executor, 4))
    np.testing.assert_array_equal(table.counts, 1)


def test_a_start_that_is_interrupted_uses_up_its_number(
    executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Helpers of one number would share private memory."""
    started: list[int] = []

    class Interrupted(threading.Thread):
        def __init__(self, *, args: tuple[int, int], **_: Any) -> None:
            super().__init__()
            self.worker = args[1]

        def start(self) -> None:
            started.append(self.worker)
            if len(started) == 1:
                raise KeyboardInterrupt

    assert executor.team is not None
    team = Team(executor.team)
    monkeypatch.setattr(teams.threading, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        team.grow(3)
    team.grow(3)
    assert started == [1, 2]


_MODEL = """
import os, signal, sys, threading, time
import numpy as np
from onnx import TensorProto, helper
import onnxloom
from onnxloom.lowering.plan import work
work.MIN_LAUNCH = work.WAKE = 0
nodes = [helper.make_node("MatMul", ["x", "x"], ["a"]), helper.make_node("Exp", ["a"], ["b"]),
         helper.make_node("Softmax", ["b"], ["y"])]
def value(name):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", "n"])
graph = helper.make_graph(nodes, "g", [value("x")], [value("y")])
model = onnxloom.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), threads=3)
x = np.random.default_rng(0).random((200, 200), dtype=np.float32) / 200
expected = model(x)[0].tobytes()
assert threading.active_count() == 3, threading.enumerate()
"""


def _python(code: str, *, before: str = "", timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", before + _MODEL + code],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_a_team_of_its_own() -> None:
    found = _python(
        """
for _ in range(3):
    child = os.fork()
    if not child:
        same = threading.active_count() == 1 and model(x)[0].tobytes() == expected
        os._exit(0 if same and threading.active_count() == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
assert model(x)[0].tobytes() == expected
"""
    )
    assert found.returncode == 0, found.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_in_the_middle_of_a_run_of_another_thread() -> None:
    found = _python(
        """
stop = False
def often():
    while not stop:
        model(x)
other = threading.Thread(target=often)
other.start()
for _ in range(20):
    child = os.fork()
    if not child:
        os._exit(0 if model(x)[0].tobytes() == expected else 1)
    assert os.waitpid(child, 0)[1] == 0
stop = True
other.join()
"""
    )
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("end", ["pass", "time.sleep(0.3)", "sys.exit(0)", "os._exit(0)"])
def test_a_process_ends_with_helpers_awake_or_asleep(end: str) -> None:
    found = _python(f"\nmodel(x)\n{end}\n")
    assert found.returncode == 0 and not found.stderr, found.stderr


def test_helpers_are_gone_before_the_interpreter_is() -> None:
    before = """
import atexit, threading
atexit.register(lambda: print(threading.active_count()))  # registered first, called last
"""
    found = _python("model(x)", before=before)
    assert found.stdout == "1\n", found.stderr


def test_a_run_after_the_team_was_closed() -> None:
    found = _python(
        """
import atexit
from onnxloom.lowering.runtime import team
team._at_exit()
assert threading.active_count() == 1
assert model(x)[0].tobytes() == expected
assert threading.active_count() == 1
print("fine")
"""
    )
    assert found.stdout == "fine\n", found.stderr


def test_ctrl_c_ends_a_long_run() -> None:
    """Signals are seen between slices of a plan; helpers do not catch them."""
    found = _python(
        """
nodes = [helper.make_node("MatMul", ["x" if i == 0 else f"a{i}", "x"], [f"a{i + 1}"]) for i in range(40)]
graph = helper.make_graph(nodes, "g", [value("x")], [value("a40")])
model = onnxloom.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), threads=3)
x = np.zeros((700, 700), np.float32)
model(x)
# A shell starts what runs in the background with this signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        model(x)
except KeyboardInterrupt:
    print("interrupted")
model(x)
print("and well")
""",
        timeout=240,
    )
    assert found.stdout == "interrupted\nand well\n", found.stderr
