"""Which models does `onnxloom bench` measure? A file, all models of a folder, or one that has a name."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from onnxloom.errors import InputError

FETCHED: Final = ".models"
"""Where `make models` puts models; ONNXLOOM_MODELS_DIR names another folder."""


@dataclass(frozen=True)
class BenchSubject:
    """One model on disk."""

    name: str
    path: str
    inputs: str | None = None
    """An .npz file that lies beside it."""


def find_subjects(target: str, folder: Path) -> list[BenchSubject]:
    """The models `target` stands for; one that is built is written to `folder`.

    Raises:
        InputError: there is no such file, folder or name.
    """
    path = Path(target)
    if path.is_file():
        return [_subject(path)]
    if path.is_dir():
        found = list(_in_folder(path))
        if not found:
            raise InputError(f"{target}: holds no model (NAME.onnx, model.onnx or NAME/model.onnx)")
        return found
    fetched = _fetched_folder() / target / "model.onnx"
    if fetched.is_file():
        return [_subject(fetched)]
    return [_built(target, folder)]


def _in_folder(path: Path) -> Iterator[BenchSubject]:
    if (path / "model.onnx").is_file():
        yield _subject(path / "model.onnx")
        return
    for entry in sorted(path.iterdir()):
        if entry.suffix == ".onnx" and entry.is_file():
            yield _subject(entry)
        elif (entry / "model.onnx").is_file():
            yield _subject(entry / "model.onnx")


def _subject(path: Path) -> BenchSubject:
    name = path.resolve().parent.name if path.name == "model.onnx" else path.stem
    inputs = path.with_name("inputs.npz" if path.name == "model.onnx" else f"{path.stem}.npz")
    return BenchSubject(name, str(path), str(inputs) if inputs.is_file() else None)


def _fetched_folder() -> Path:
    return Path(os.environ.get("ONNXLOOM_MODELS_DIR", FETCHED))


def _built(name: str, folder: Path) -> BenchSubject:
    """An architecture of benchmarks/, which is no part of the package."""
    files = _architecture_files()
    names: tuple[str, ...] = files.names() if files is not None else ()
    if files is None or name not in names:
        choices = f" (built-in models: {', '.join(names)})" if names else ""
        raise InputError(f"{name}: no such file, folder, or model in {_fetched_folder()}{choices}")
    path, inputs = folder / f"{name}.onnx", folder / f"{name}.npz"
    files.write_model(name, str(path), str(inputs))
    return BenchSubject(name, str(path), str(inputs))


def _architecture_files() -> Any:
    """Its module that writes models; None where benchmarks/ is neither here nor in the current folder."""
    for root in (Path(__file__).resolve().parents[2], Path.cwd()):
        if not (root / "benchmarks" / "architectures" / "__init__.py").is_file():
            continue
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))  # other packages bring a `benchmarks` of their own
        return importlib.import_module("benchmarks.architectures.files")
    return None
