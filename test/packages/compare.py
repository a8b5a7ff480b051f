"""Do unmodified packages give the same results on onnxloom as on onnxruntime?

    python test/packages/compare.py [--only NAME] [--folder build/packages]

Each package is installed into an environment of its own and run twice, in processes of their own; in the
second one `sys.modules["onnxruntime"]` is onnxloom. Texts and counts are the same, numbers within TOLERANCE.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent.parent

TOLERANCE: Final = 2e-3
"""Of scores between 0 and 1, and relative to larger numbers; models of 8-bit weights round that far apart."""


class NotInstalledError(Exception):
    """A package cannot be installed here."""


@dataclass(frozen=True)
class Package:
    """One version of a package, and the case that runs it."""

    name: str
    version: str
    case: str
    needs: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"


def packages() -> list[Package]:
    entries = json.loads((HERE / "packages.json").read_text())
    return [
        Package(entry["package"], version, entry["case"], tuple(entry["needs"]))
        for entry in entries
        for version in entry["versions"]
    ]


def environment(folder: Path, needs: tuple[str, ...]) -> Path:
    """The Python of an environment with onnxloom, onnxruntime and what packages need.

    Raises:
        NotInstalledError: something cannot be installed.
    """
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(folder / "venv", with_pip=True)
        _pip(python, "-e", str(ROOT), "onnxruntime")
    _pip(python, *needs)
    return python


def compare(package: Package, folder: Path) -> list[str]:
    """What differs. Raises NotInstalledError, or CalledProcessError when the case fails."""
    python = environment(folder, package.needs)
    place = folder / f"{package.name}-{package.version}"
    if not place.exists():
        _pip(python, "--no-deps", "--target", str(place), f"{package.name}=={package.version}")
    expected, got = (_run(python, place, package.case, which) for which in ("onnxruntime", "onnxloom"))
    return list(differences(expected, got))


def differences(expected: Any, got: Any, where: str = "result") -> Iterator[str]:
    """One line for each place in which plain data differ."""
    if isinstance(expected, float) and isinstance(got, float):
        if not math.isclose(expected, got, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{where}: {expected} and {got}"
    elif isinstance(expected, dict) and isinstance(got, dict) and expected.keys() == got.keys():
        for key, value in expected.items():
            yield from differences(value, got[key], f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for index, (one, other) in enumerate(zip(expected, got, strict=True)):
            yield from differences(one, other, f"{where}[{index}]")
    elif expected != got:
        yield f"{where}: {expected!r} and {got!r}"


def _run(python: Path, place: Path, case: str, runtime: str) -> Any:
    # onnxloom is found through the path too: the environment may have been made by another clone.
    search = os.pathsep.join([str(place), str(ROOT)])
    command = [python, str(HERE / "run_case.py"), case, runtime]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONPATH": search}
    )
    if done.returncode:
        raise RuntimeError(f"{case} on {runtime} failed: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def _pip(python: Path, *what: str) -> None:
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    except subprocess.TimeoutExpired:
        raise NotInstalledError(f"{' '.join(what)}: takes more than half an hour") from None
    if done.returncode:
        raise NotInstalledError(f"{' '.join(what)}: {done.stderr.strip().splitlines()[-1:]}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Compares packages on onnxloom with the same on onnxruntime."
    )
    parser.add_argument("--only", default="", help="part of the names of packages")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "packages")
    asked = parser.parse_args()
    failed = 0
    for package in packages():
        if asked.only not in package.title:
            continue
        try:
            found = compare(package, asked.folder)
        except NotInstalledError as error:
            print(f"{package.title:30} not installed: {error}")
            continue
        print(f"{package.title:30} {'the same' if not found else f'{len(found)} differences'}", flush=True)
        for line in found[:5]:
            print(f"    {line}")
        failed += bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
