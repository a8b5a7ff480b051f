"""A pipeline can be stopped after any rewrite, and run again up to any pass, always with the same result."""

from __future__ import annotations

import numpy as np
from text_models import model_of

from onnxloom.conversion.onnx_import import import_model
from onnxloom.testing import Exact
from onnxloom.testing.noop import text_of
from onnxloom.tools.bisecting.rewrites import Judge
from onnxloom.tools.bisecting.trials import Trials
from onnxloom.transforms.pipelines import pipeline

MODEL = model_of("""agraph (float[N, 4] x, int64 k) => (float[N, 4] y, float[M, P] z)
<float one = {1.0}, float half = {0.5}, bool yes = {1}, int64[2] flat = {0, -1}> {
  same = Identity(x)
  sum = Add(one, half)
  turned = Transpose <perm = [1, 0]> (same)
  back = Transpose <perm = [1, 0]> (turned)
  grown = Exp(back)
  twice = Exp(back)
  chosen = If <then_branch = t () => (float[N, 4] p) { p = Add(grown, sum) },
               else_branch = e () => (float[N, 4] q) { q = Sub(twice, sum) }> (yes)
  clipped = Relu(chosen)
  y = Neg(clipped)
  shape = Shape(twice)
  flatter = Reshape(twice, flat)
  z = Reshape(flatter, shape)
}""")
FEEDS = {"x": np.arange(8, dtype=np.float32).reshape(2, 4) / 8, "k": np.array(1)}


def test_every_number_of_rewrites_is_a_beginning_of_all_and_keeps_the_values() -> None:
    module = import_model(MODEL)
    before = text_of(module)
    trials = Trials(pipeline(3))
    judge = Judge.of(module, FEEDS, Exact())
    full = trials.run(module)
    assert len(full.rewrites) > 8
    assert len({name for name, _ in full.rewrites}) > 3
    for limit in range(len(full.rewrites) + 1):
        trial = trials.run(module, limit)
        assert trial.rewrites == full.rewrites[:limit]
        assert judge.fault(trial.module) == ""
    assert text_of(module) == before


def test_the_steps_of_a_run_repeat_it() -> None:
    module = import_model(MODEL)
    trials = Trials(pipeline(3))
    for limit in (None, 3, 9):
        trial = trials.run(module, limit)
        again = trials.repeat(module, trial.steps, limit)
        assert again.rewrites == trial.rewrites
        assert text_of(again.module) == text_of(trial.module)


def test_passes_can_be_left_out() -> None:
    module = import_model(MODEL)
    trial = Trials(pipeline(3), skip=("fuse-ops", "inline-if")).run(module)
    assert {name for name, _ in trial.rewrites}.isdisjoint({"fuse-ops", "inline-if"})
