"""The cache folder: what is put comes back whole or not at all, and the folder stays within its bound."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from onnxloom.lowering.cache import DiskCache, cache_directory
from onnxloom.lowering.cache.disk import cache_bytes


def test_what_is_put_comes_back(tmp_path: Path):
    cache = DiskCache(tmp_path / "new" / "folder")
    assert cache.get("key") is None
    assert cache.put("key", b"payload")
    assert cache.get("key") == b"payload"
    cache.remove("key")
    assert cache.get("key") is None


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "append"])
def test_a_damaged_entry_is_absent(tmp_path: Path, damage: str):
    cache = DiskCache(tmp_path)
    cache.put("key", bytes(range(200)))
    path = tmp_path / "key"
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[100] ^= 1
    path.write_bytes({"truncate": data[:90], "empty": b"", "append": data + b"x"}.get(damage, data))
    assert cache.get("key") is None
    assert cache.put("key", b"again")
    assert cache.get("key") == b"again"


@pytest.mark.parametrize("kind", ["pipe", "folder", "too large", "link", "link to a pipe"])
def test_what_nobody_put_there_is_absent(tmp_path: Path, kind: str):
    cache = DiskCache(tmp_path, max_bytes=1000)
    if kind == "pipe":
        os.mkfifo(tmp_path / "key")
    elif kind == "folder":
        (tmp_path / "key").mkdir()
    elif kind == "link":
        DiskCache(tmp_path).put("other", b"payload")
        (tmp_path / "key").symlink_to("other")
    elif kind == "link to a pipe":
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "key").symlink_to("pipe")
    else:
        DiskCache(tmp_path).put("key", bytes(1000))
    assert cache.get("key") is None


def test_no_folder_keeps_nothing():
    cache = DiskCache(None)
    assert not cache.put("key", b"payload")
    assert cache.get("key") is None
    cache.trim()


def test_a_folder_that_cannot_be_written_costs_only_the_reuse(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    cache = DiskCache(blocked)
    assert not cache.put("key", b"payload")
    assert cache.get("key") is None
    cache.trim()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners and modes here")
def test_a_folder_everybody_may_write_to_is_not_used(tmp_path: Path):
    DiskCache(tmp_path).put("key", b"payload")
    tmp_path.chmod(0o777)
    assert DiskCache(tmp_path).get("key") is None
    tmp_path.chmod(0o775)
    assert DiskCache(tmp_path).get("key") == b"payload"


def test_trim_deletes_the_least_recently_used_first(tmp_path: Path):
    cache = DiskCache(tmp_path, max_bytes=3500)
    for age, key in enumerate(("newest", "middle", "oldest")):
        cache.put(key, bytes(1000))
        os.utime(tmp_path / key, (1e9 - age, 1e9 - age))
    cache.put("other", bytes(1000))
    assert cache.get("oldest") is not None  # a use makes it young again
    cache.trim()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["newest", "oldest", "other"]


def test_an_entry_larger_than_the_bound_is_not_kept(tmp_path: Path):
    assert not DiskCache(tmp_path, max_bytes=10).put("key", bytes(100))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("key", ["", "..", "a/b", ".hidden", "x" * 300])
def test_a_key_cannot_leave_the_folder(tmp_path: Path, key: str):
    with pytest.raises(ValueError, match="not a cache key"):
        DiskCache(tmp_path).put(key, b"")


_WRITER = """
import sys
from pathlib import Path
from onnxloom.lowering.cache.disk import DiskCache

number = int(sys.argv[2])
cache = DiskCache(Path(sys.argv[1]), max_bytes=200_000)
for k in range(100):
    payload = bytes([number]) * (1000 + k)
    assert cache.put("shared", payload)
    seen = cache.get("shared")
    assert seen is None or len(set(seen)) == 1
    assert cache.put(f"own-{number}-{k}", payload)
    if k % 20 == 0:
        cache.trim()
"""


def test_concurrent_processes_never_see_half_an_entry(tmp_path: Path):
    workers = [subprocess.Popen([sys.executable, "-c", _WRITER, tmp_path, str(n)]) for n in range(1, 4)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_environment_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ONNXLOOM_CACHE_DIR", str(tmp_path))
    assert cache_directory() == tmp_path
    monkeypatch.setenv("ONNXLOOM_CACHE_DIR", "")
    assert cache_directory() is None
    monkeypatch.delenv("ONNXLOOM_CACHE_DIR")
    found = cache_directory()
    assert found is not None and found.name == "onnxloom"
    monkeypatch.setenv("ONNXLOOM_CACHE_BYTES", "12345")
    assert cache_bytes() == 12345
    monkeypatch.setenv("ONNXLOOM_CACHE_BYTES", "much")
    assert cache_bytes() == 1 << 30
