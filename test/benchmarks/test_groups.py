"""Every case is a valid graph that both sides run alike; groups of the command line exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import onnxloom
from benchmarks import cases, groups, run
from benchmarks.case import Case
from benchmarks.groups import GOALS, group_names

SMALL = [
    cases.matmul(3, 5, 7),
    cases.batched_matmul(2, 3, 4, 5),
    cases.matmul_bias_gelu(3, 5, 7),
    cases.matmul_bias_residual_relu(3, 5, 7),
    cases.attention(5, 2, 4),
    cases.layer_normalization(3, 8),
    cases.residual_layer_normalization(3, 8),
    cases.rms_normalization(3, 8),
    cases.softmax(6),
    cases.chain_cheap(3, 5),
    cases.chain_tanh(3, 5),
    cases.chain_cast_where(3, 5),
    cases.chain_broadcast(3, 5),
]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_case_is_valid_and_runs_alike(case: Case):
    onnx.checker.check_model(case.model)
    (theirs,) = ort.InferenceSession(case.model.SerializeToString()).run(None, dict(case.feeds))
    (ours,) = onnxloom.InferenceSession(case.model).run(None, case.feeds)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.parametrize(
    "case",
    [
        cases.chain_cheap(2, 2),
        cases.chain_tanh(2, 2),
        cases.chain_cast_where(2, 2),
        cases.chain_broadcast(2, 2),
    ],
    ids=lambda case: case.name,
)
def test_chain_has_eight_ops(case: Case):
    assert len(case.model.graph.node) == 8


def test_every_case_of_the_tables_has_a_name_of_its_own():
    tables = (
        cases.GEMM, cases.GEMM_GELU, cases.GEMM_RESIDUAL, cases.ATTENTION, cases.NORMS, cases.SOFTMAX,
        cases.CHAINS,
    )  # fmt: skip
    assert sum(map(len, tables)) == len({name for table in tables for name in table})


def test_groups_have_goals():
    assert set(group_names()) - {"fetched"} <= set(GOALS)


def test_run_prints_figures_and_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(groups, "_CASES", {"softmax": {"softmax 6": lambda: cases.softmax(6)}})
    figures, drawing = tmp_path / "f.json", tmp_path / "p.svg"
    args = [
        "softmax",
        "--rounds",
        "1",
        "--seconds",
        "0.0001",
        "--json",
        str(figures),
        "--picture",
        str(drawing),
    ]
    assert run.main(args) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("limits measured")
    assert out[1].startswith("softmax          softmax 1x12x6x6")
    assert out[-1].startswith("softmax over the last axis")
    (ratio,) = json.loads(figures.read_text())["ratios"]
    assert ratio["group"] == "softmax"
    assert drawing.read_text().startswith("<svg")


def test_a_model_that_fails_is_said_and_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    named = {name: lambda: cases.softmax(6) for name in ("first", "second")}
    monkeypatch.setattr(groups, "_CASES", {"softmax": named})
    whole = run.measure
    calls: list[Any] = []

    def fails_once(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            raise RuntimeError("broken")
        return whole(*args)

    monkeypatch.setattr(run, "measure", fails_once)
    assert run.main(["softmax", "--rounds", "1", "--seconds", "0.0001"]) == 1
    out = capsys.readouterr().out
    assert "RuntimeError: broken" in out
    assert len(re.findall("^softmax +softmax 1x12x6x6", out, re.MULTILINE)) == 2  # a missed goal names it too


def test_unknown_group_is_said(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        run.main(["nothing"])
    assert "no group 'nothing'" in capsys.readouterr().err
