"""Do ops in training mode give what the reference gives, and draw nothing where nothing is dropped?"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from numerics import Array, assert_close, compiled, graph_model, reference

from onnxloom.errors import OnnxloomError
from onnxloom.lowering.runtime.model import CompiledModel

RNG = np.random.default_rng(13)


def batch_norm(
    shape: tuple[int, ...], dtype: str, outputs: int, **attrs: Any
) -> tuple[CompiledModel, Any, Any]:
    c = shape[1]
    feeds = {"x": (RNG.normal(size=shape) * 3 + 1).astype(dtype)}
    feeds |= {n: RNG.uniform(0.5, 2, c).astype(dtype) for n in ("s", "b", "m", "v")}
    results = {"y": feeds["x"], "rm": feeds["m"], "rv": feeds["v"]}
    names = ["y", "rm", "rv"][:outputs]
    node = oh.make_node("BatchNormalization", list(feeds), names, training_mode=1, **attrs)
    model = graph_model([node], feeds, {n: results[n] for n in names})
    return compiled(model), feeds, model


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 1, 4, 5), (1, 3, 1, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_batch_statistics(shape: tuple[int, ...], dtype: str) -> None:
    model, feeds, proto = batch_norm(shape, dtype, 3, momentum=0.7, epsilon=1e-3)
    exact = {n: a.astype(np.float64) for n, a in feeds.items()}
    want = [y.astype(dtype) for y in reference(proto, exact)]
    tolerance = 1e-2 if dtype == "float16" else 1e-5
    assert_close(list(model.run(feeds).values()), want, rtol=tolerance, atol=tolerance)
    assert not model.host_counts


def test_batch_statistics_that_nothing_reads() -> None:
    model, feeds, proto = batch_norm((2, 3, 4), "float32", 1)
    (want, *_) = reference(proto, feeds)
    assert_close(list(model.run(feeds).values()), [want], rtol=1e-4, atol=1e-5)


def test_parameters_of_another_size_are_refused() -> None:
    model, feeds, _ = batch_norm((2, 3, 4), "float32", 3)
    for name in ("s", "b", "m", "v"):
        with pytest.raises(OnnxloomError, match="does not have an element per channel"):
            model.run({**feeds, name: np.ones(2, np.float32)})


def dropout(ratio: float | None, training: bool | None, known: bool) -> tuple[list[Array], CompiledModel]:
    feeds: dict[str, Array] = {"x": RNG.normal(size=(30, 40)).astype(np.float32)}
    names = ["x", "", ""]
    if ratio is not None:
        feeds["r"], names[1] = np.array(ratio, np.float32), "r"
    if training is not None:
        feeds["t"], names[2] = np.array(training), "t"
    held = {n: feeds.pop(n) for n in ("r", "t") if known and n in feeds}
    node = oh.make_node("Dropout", names, ["y", "m"], seed=5)
    results = {"y": feeds["x"], "m": np.zeros((30, 40), np.bool_)}
    model = compiled(graph_model([node], feeds, results, constants=held))
    with pytest.warns(match="Dropout") if ratio and training else _nothing():
        results = list(model.run(feeds).values())
    return [feeds["x"], *results], model


class _nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *args: object) -> None: ...


@pytest.mark.parametrize(
    ("ratio", "training"), [(None, None), (0.5, None), (0.5, False), (0.0, True), (None, False)]
)
@pytest.mark.parametrize("known", [False, True])
def test_nothing_is_dropped(ratio: float | None, training: bool | None, known: bool) -> None:
    (x, y, mask), model = dropout(ratio, training, known)
    np.testing.assert_array_equal(y, x)
    assert mask.dtype == np.bool_ and mask.all()
    assert not model.host_counts


@pytest.mark.parametrize("known", [False, True])
def test_what_is_dropped_follows_from_the_seed(known: bool) -> None:
    (x, y, mask), _ = dropout(0.25, True, known)
    np.testing.assert_allclose(y, np.where(mask, x / 0.75, 0), rtol=1e-6)
    assert 0.6 < mask.mean() < 0.9
    (_, _, again), _ = dropout(0.25, True, known)
    np.testing.assert_array_equal(mask, again)


@pytest.mark.filterwarnings("ignore:.*runs in Python")
@pytest.mark.parametrize("dtype", [1, 11, 10])
@pytest.mark.parametrize("op", ["RandomNormal", "RandomUniform"])
def test_seeded_random_tensors(op: str, dtype: int) -> None:
    node = oh.make_node(op, [], ["y"], shape=[50, 60], dtype=dtype, seed=3.0)
    want = np.zeros((50, 60), oh.tensor_dtype_to_np_dtype(dtype))
    runs = [compiled(graph_model([node], {}, {"y": want}, dynamic=False)).run({})["y"] for _ in range(2)]
    np.testing.assert_array_equal(*runs)
    assert runs[0].shape == want.shape and runs[0].dtype == want.dtype
    assert np.unique(runs[0]).size > 100


@pytest.mark.filterwarnings("ignore:.*runs in Python")
@pytest.mark.parametrize("op", ["RandomNormalLike", "RandomUniformLike", "Bernoulli"])
def test_seeded_random_tensors_like_others(op: str) -> None:
    x = RNG.uniform(0.3, 0.7, (50, 60)).astype(np.float32)
    node = oh.make_node(op, ["x"], ["y"], seed=3.0)
    runs = [compiled(graph_model([node], {"x": x}, {"y": x})).run({"x": x})["y"] for _ in range(2)]
    np.testing.assert_array_equal(*runs)
    assert runs[0].shape == x.shape and runs[0].dtype == x.dtype
    assert np.unique(runs[0]).size > 1
