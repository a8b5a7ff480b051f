"""Is a damaged file refused, whatever is damaged, and written whole or not at all?"""

from __future__ import annotations

import json
import os
import struct
import zlib
from pathlib import Path

import pytest

from onnxloom.errors import ArtifactError
from onnxloom.lowering.artifact.container import (
    FORMAT,
    MAGIC,
    is_artifact,
    read_container,
    write_container,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.loom"
    write_container(
        path, {"made": "today"}, {"a": [b"first ", b"part"], "empty": [], "b": [bytes(range(256))]}
    )
    return path


def described(description: object, section: bytes = b"") -> bytes:
    """A file with this description, all checksums right."""
    text = description if isinstance(description, bytes) else json.dumps(description).encode()
    first = -(-(64 + len(text)) // 4096) * 4096
    length = first + len(section)
    head = struct.pack("<8sIIQQ", MAGIC, FORMAT, zlib.crc32(text), len(text), length)
    return (head.ljust(64, b"\0") + text).ljust(first, b"\0") + section


def test_what_was_written_is_read(path: Path) -> None:
    container = read_container(path)
    assert container.description["made"] == "today"
    assert {name: bytes(data) for name, data in container.sections.items()} == {
        "a": b"first part", "empty": b"", "b": bytes(range(256)),
    }  # fmt: skip
    assert read_container(path.read_bytes()).sections.keys() == container.sections.keys()


def test_sections_start_on_a_page(path: Path) -> None:
    data = path.read_bytes()
    assert data.index(b"first part") % 4096 == 0
    assert data.index(bytes(range(256))) % 4096 == 0


def test_a_file_of_no_sections(tmp_path: Path) -> None:
    write_container(tmp_path / "e", {}, {})
    assert not read_container(tmp_path / "e").sections


def test_every_byte_that_says_something_is_checked(path: Path) -> None:
    data = path.read_bytes()
    size = struct.unpack_from("<Q", data, 16)[0]
    places = read_container(data).description["sections"].values()
    said = [*range(32), *range(64, 64 + size)]
    for at, length, _ in places:
        first = -(-(64 + size) // 4096) * 4096
        said += range(first + at, first + at + length)
    for position in said:
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        with pytest.raises(ArtifactError):
            read_container(bytes(damaged))


def test_a_file_cut_short_or_with_more_behind_it(path: Path) -> None:
    data = path.read_bytes()
    for length in (0, 1, 7, 8, 31, 63, 64, 80, 4096, len(data) - 1):
        with pytest.raises(ArtifactError, match="cut short|does not start"):
            read_container(data[:length])
    with pytest.raises(ArtifactError, match="is damaged: it has"):
        read_container(data + b"\0")


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "e").touch()
    with pytest.raises(ArtifactError, match="is no compiled model"):
        read_container(tmp_path / "e")


def test_another_format_is_named(path: Path) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, 8, 77)
    with pytest.raises(ArtifactError, match="has format 77"):
        read_container(bytes(data))


@pytest.mark.parametrize(
    "description",
    [
        b"no json", b"\xff\xfe", b"3", b"[]", b"null", b"{}", b'{"sections": 3}', b'{"sections": {"a": 3}}',
        b'{"sections": {"a": [1]}}', b'{"sections": {"a": ["0", "1", "2"]}}', b"[" * 100_000,
        b'{"sections": {"a": [null, null, null]}}',
    ],
)  # fmt: skip
def test_a_description_that_makes_no_sense(description: bytes) -> None:
    with pytest.raises(ArtifactError, match="description that is not understood"):
        read_container(described(description))


@pytest.mark.parametrize("place", [(0, 5), (-1, 2), (2, -1), (1 << 70, 1), (4, 1)])
def test_a_section_outside_the_file(place: tuple[int, int]) -> None:
    with pytest.raises(ArtifactError, match="does not lie in the file"):
        read_container(described({"sections": {"a": [*place, 0]}}, b"1234"))


def test_a_description_larger_than_any_is_not_read() -> None:
    with pytest.raises(ArtifactError, match="description does not have the checksum"):
        read_container(described({"sections": {}, "x": "y" * (1 << 20)}))


def test_a_file_that_cannot_be_finished_leaves_the_old_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_container(path, {}, {})
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_what_is_taken_for_a_compiled_model(path: Path, tmp_path: Path) -> None:
    assert is_artifact(path)
    assert is_artifact(str(path))
    assert is_artifact(path.read_bytes())
    renamed = path.rename(tmp_path / "model.bin")
    assert is_artifact(renamed)
    (tmp_path / "other.loom").write_bytes(b"something else")
    assert is_artifact(tmp_path / "other.loom")
    (tmp_path / "m.onnx").write_bytes(b"something else")
    assert not is_artifact(tmp_path / "m.onnx")
    assert not is_artifact(tmp_path / "missing.loom")
    assert not is_artifact(b"")
    assert not is_artifact(3)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no named pipes")
def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.loom")
    assert not is_artifact(tmp_path / "p.loom")
