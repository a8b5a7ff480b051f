"""Which tests belong to a source file? Those that mirror its place and name, then those around them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def tests_of(path: str, root: Path) -> list[list[Path]]:
    """Stages of test files, the closest first; a later stage holds no file of an earlier one.

    `transforms/a/b.py` is tested by `test/transforms/a/b.mlir`, `b_*.mlir`, `test_b.py` and `test_b_*.py`;
    then by the tests that name its module; then by all of `test/transforms/a/`; then, for what is shared, by
    the tests that mirror a module that imports it.
    """
    source = Path(path)
    folder = root / "test" / source.parent
    module = ".".join(("onnxloom", *source.with_suffix("").parts))
    named = _mirrors_of(source, root)
    mention = [file for file in _python_tests(root) if module in file.read_text(encoding="utf-8")]
    around = list(_tests_in(folder))
    importing = [file for user in _importers(module, source, root) for file in _mirrors_of(user, root)]
    stages: list[list[Path]] = []
    seen: set[Path] = set()
    for stage in (named, mention, around, importing):
        fresh = [file for file in dict.fromkeys(stage) if file not in seen]
        seen.update(fresh)
        if fresh:
            stages.append(fresh)
    return stages


def _mirrors_of(source: Path, root: Path) -> list[Path]:
    return [file for file in _tests_in(root / "test" / source.parent) if _mirrors(file, source.stem)]


def _importers(module: str, source: Path, root: Path) -> Iterator[Path]:
    """Modules of the same room that import a module."""
    for file in sorted((root / source.parts[0]).rglob("*.py")):
        if f"from {module} import" in file.read_text(encoding="utf-8"):
            yield file.relative_to(root)


def _tests_in(folder: Path) -> Iterator[Path]:
    """Tests that stand in a folder itself."""
    if folder.is_dir():
        yield from (file for file in sorted(folder.iterdir()) if _is_test(file))


def _python_tests(root: Path) -> Iterator[Path]:
    yield from sorted((root / "test").rglob("test_*.py"))


def _is_test(file: Path) -> bool:
    return file.suffix == ".mlir" or (file.name.startswith("test_") and file.suffix == ".py")


def _mirrors(file: Path, stem: str) -> bool:
    name = file.stem.removeprefix("test_")
    return name == stem or name.startswith(f"{stem}_")
