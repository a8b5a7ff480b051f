"""What every test gets: `.mlir` files as tests, a kernel cache of its own, the fetched models."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from onnxloom.lowering.checked.wanted import VARIABLE, checked_by_environment
from onnxloom.tools.testing.pytest_lit import pytest_collect_file

__all__ = ["pytest_collect_file"]

settings.register_profile("untimed", deadline=None)  # a loaded machine is no fault
settings.load_profile("untimed")

_CACHE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()
_MODELS = Path(__file__).parent.parent / ".models"


def pytest_configure(config: pytest.Config) -> None:
    """One empty kernel cache per run, shared by its workers: the user's own is neither used nor filled.

    `onnxloom-opt` verifies the IR after each pass, in process and in processes of its own.
    """
    os.environ["ONNXLOOM_VERIFY_EACH"] = "1"
    if hasattr(config, "workerinput"):
        return  # a worker of pytest-xdist inherits the environment of its controller
    folder = tempfile.TemporaryDirectory(prefix="onnxloom-test-cache-")
    config.stash[_CACHE] = folder
    os.environ["ONNXLOOM_CACHE_DIR"] = folder.name


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(_CACHE, None)
    if folder is not None:
        folder.cleanup()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`full` tests run when asked for by name or by `-m`, `unchecked` ones not with checked kernels."""
    for item in items if checked_by_environment() else ():
        mark = item.get_closest_marker("unchecked")
        if mark is not None:
            item.add_marker(pytest.mark.skip(reason=f"not with {VARIABLE}: {mark.kwargs['reason']}"))
    if "full" in str(config.getoption("markexpr")):
        return
    skip = pytest.mark.skip(reason="needs the full set of models or takes minutes (run with -m full)")
    for item in items:
        if item.get_closest_marker("full") is not None:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """Folder of the fetched models (`make models`): `<name>/{model.onnx,inputs.npz,outputs.npz}`."""
    return Path(os.environ.get("ONNXLOOM_MODELS_DIR", _MODELS))
