"""How many threads a model uses: told, from the environment, or one per usable core."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from onnxloom.errors import InputError
from onnxloom.lowering.runtime import threads
from onnxloom.lowering.runtime.threads import VARIABLE, thread_count, usable_cores


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Eight processors, two to a core, no limits; files of the kernel lie in the folder."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)  # pyright: ignore
    monkeypatch.setattr(threads, "_CPUS", tmp_path)
    monkeypatch.setattr(threads, "_CGROUP", tmp_path)
    threads._core_of.cache_clear()  # pyright: ignore[reportPrivateUsage]
    for cpu in range(8):
        _write(tmp_path / f"cpu{cpu}/topology/thread_siblings_list", f"{cpu % 4},{cpu % 4 + 4}\n")
    yield tmp_path
    threads._core_of.cache_clear()  # pyright: ignore[reportPrivateUsage]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_one_per_physical_core(system: Path) -> None:
    assert usable_cores() == 4
    assert thread_count(0) == 4


def test_the_affinity_of_the_process_counts(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 5, 6}, raising=False)  # pyright: ignore
    assert usable_cores() == 2


def test_without_files_of_the_kernel_every_processor_is_a_core(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_CPUS", system / "nowhere")
    assert usable_cores() == 8


@pytest.mark.parametrize(
    ("text", "cores"),
    [("200000 100000", 2), ("250000 100000", 3), ("1000 100000", 1), ("max 100000", 4), ("900000 100000", 4)],
)
def test_control_groups_limit_it(system: Path, text: str, cores: int) -> None:
    _write(system / "cpu.max", text + "\n")
    assert usable_cores() == cores


@pytest.mark.parametrize(("quota", "cores"), [("150000", 2), ("-1", 4)])
def test_so_do_those_of_the_first_version(system: Path, quota: str, cores: int) -> None:
    _write(system / "cpu/cpu.cfs_quota_us", quota + "\n")
    _write(system / "cpu/cpu.cfs_period_us", "100000\n")
    assert usable_cores() == cores


def test_what_is_told_counts_more(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    assert thread_count(0) == 3
    assert thread_count(7) == 7
    assert thread_count(1024) == 1024
    monkeypatch.setenv(VARIABLE, "0")
    assert thread_count(0) == 4


@pytest.mark.parametrize("wanted", [-1, 1.5, "2", True, None, 1025])
def test_other_values_mean_nothing(system: Path, wanted: object) -> None:
    with pytest.raises(InputError, match="intra_op_num_threads is .*expected 0"):
        thread_count(wanted, "intra_op_num_threads")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("text", ["-1", "two", "1.5", "1025", "1" * 5000])
def test_neither_do_other_texts(system: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InputError, match=VARIABLE):
        thread_count(0)
