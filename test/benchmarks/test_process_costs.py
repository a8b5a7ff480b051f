"""Figures of whole processes: each is measured in one of its own, and judged in the right direction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from benchmarks import compile_time
from benchmarks.architectures import builder, tiny_sizes
from benchmarks.architectures.feeds import feeds_of
from benchmarks.process_costs import small_models, start_cost, start_line, verdict
from benchmarks.processes import run_process


def test_memory_is_that_of_the_process_not_of_its_parent():
    held = np.ones(1 << 25)  # 256 MB, touched
    assert run_process("").bytes < held.nbytes / 4
    assert (
        run_process("block = bytearray(1 << 27); block[::4096] = b'x' * len(block[::4096])").bytes > 1 << 27
    )


def test_a_start_is_measured_on_both_sides(tmp_path: Path):
    model = builder("lstm")(**tiny_sizes("lstm"))
    folder = tmp_path / "models" / "tagger"
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    np.savez(folder / "inputs.npz", **feeds_of(model))  # pyright: ignore[reportArgumentType]
    ((name, path, inputs),) = small_models(tmp_path / "models")
    assert name == "tagger"
    start = start_cost(name, path, inputs, tmp_path, rounds=1)
    assert start.ratio == start.theirs.seconds / start.ours.seconds
    assert 0.01 < start.memory < 100
    assert start_line(start).startswith("start     tagger")


def test_verdicts_know_which_way_is_better():
    assert verdict("x", 1.0, 1.0, is_least=True).endswith("goal at least 1.00: reached")
    assert verdict("x", 0.9, 1.0, is_least=True).endswith("missed")
    assert verdict("x", 0.9, 1.0, is_least=False).endswith("goal at most 1.00: reached")
    assert verdict("x", 1.1, 1.0, is_least=False).endswith("missed")


def test_a_code_says_more_than_its_cost():
    assert run_process("import sys; said = sys.argv[1:]", "a", "b").said == ["a", "b"]
    assert run_process("").said is None


def test_why_a_process_failed_is_said():
    with pytest.raises(RuntimeError, match="a process ended with 1: (.|\n)*ValueError: no such thing"):
        run_process("raise ValueError('no such thing')")


def test_stages_of_compiling_follow_the_imports(tmp_path: Path):
    model = builder("lstm")(**tiny_sizes("lstm"))
    onnx.save(model, tmp_path / "model.onnx")
    imports, *parts = compile_time.stages(str(tmp_path / "model.onnx"))
    assert imports > 0.05
    assert len(parts) == len(compile_time.STAGES)
    assert all(seconds >= 0 for seconds in parts) and sum(parts) > 0


def test_table_of_stages_has_the_median_of_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    rounds = iter([[9.0] * 6, [1.0, 2.0, 0.0, 0.0, 0.0, 0.0], [1.0, 4.0, 0.0, 0.0, 0.0, 0.0]] * 5)
    monkeypatch.setattr(compile_time, "stages", lambda path: next(rounds))
    assert compile_time.main(["softmax", "--rounds", "2"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[-5:] == [*compile_time.STAGES]
    assert [row.split()[2:] for row in rows] == [["4.00", "3.00", "1.00", "3.00", *["0.00"] * 4]] * 5
