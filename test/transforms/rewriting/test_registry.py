"""Patterns by name: where they come from, which are selected, whose counts, and what clashes."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from onnxloom.errors import PassError
from onnxloom.transforms import patterns as own_folder
from onnxloom.transforms.plugins import use_plugins
from onnxloom.transforms.rewriting.pattern import (
    Numerics,
    PatternOptimization,
    Replacement,
    Stage,
    no_match,
)
from onnxloom.transforms.rewriting.registry import (
    OWN,
    PatternRegistry,
    current_patterns,
    own_patterns,
    patterns_fingerprint,
    patterns_in,
    register,
    unregister,
    use_patterns,
)

FILE = """
from onnxloom.transforms.rewriting.pattern import PatternOptimization, Replacement, no_match

class {name}Pattern(PatternOptimization{options}):
    def match(self, graph, op):
        return no_match(op, "never")

    def apply(self, graph, match):
        return Replacement([], {{}})
"""


def made(name: str, **fields: Any) -> type[PatternOptimization]:
    hooks = {
        "match": lambda self, graph, op: no_match(op, "never"),
        "apply": lambda self, graph, match: Replacement([], {}),
    }
    return type(name, (PatternOptimization,), {"__module__": __name__, "name": name, **hooks, **fields})


ALPHA = made("Alpha")
BETA = made("Beta", numerics=Numerics.TOLERANCE, stage=Stage.BEFORE_FUSION)
HALF = made("Half", numerics=Numerics.LOWERS)
OFF = made("AlphaOff", default=False)
REGISTRY = PatternRegistry((), {}).replaced_by({p.name: p for p in (ALPHA, BETA, HALF, OFF)}, "here")


def plugin(folder: Path, name: str, options: str = "", file: str = "mine.py") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(FILE.format(name=name, options=options))
    return folder / file


def names_of(patterns: Sequence[type[PatternOptimization]]) -> list[str]:
    return [pattern.name for pattern in patterns]


# Selection


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ({}, ["Alpha", "Beta"]),
        ({"numerics": Numerics.EXACT}, ["Alpha"]),
        ({"numerics": Numerics.LOWERS}, ["Alpha", "Beta"]),
        ({"patterns": ["*"]}, ["Alpha", "Beta"]),
        ({"patterns": ["Al*"]}, ["Alpha"]),
        ({"patterns": ["B?ta", "Alpha"]}, ["Alpha", "Beta"]),
        ({"patterns": ["AlphaOff"]}, ["AlphaOff"]),
        ({"patterns": ["Half"]}, ["Half"]),
        ({"patterns": ["Beta"], "numerics": Numerics.EXACT}, ["Beta"]),
        ({"patterns": ["Bet*"], "numerics": Numerics.EXACT}, []),
        ({"skip": ["Al*"]}, ["Beta"]),
        ({"patterns": ["Half"], "skip": ["Half"]}, []),
        ({"stage": Stage.BEFORE_FUSION}, ["Beta"]),
        ({"patterns": ["Beta"], "stage": Stage.AFTER_FUSION}, []),
        ({"patterns": []}, []),
    ],
)
def test_patterns_are_selected_by_name_glob_stage_and_numerics(
    arguments: dict[str, Any], expected: list[str]
) -> None:
    assert names_of(REGISTRY.select(**arguments)) == expected


@pytest.mark.parametrize(
    "arguments", [{"patterns": ["Alfa"]}, {"skip": ["Alfa"]}, {"patterns": ["Beta", "Alfa"]}]
)
def test_a_name_of_no_pattern_is_an_error_that_suggests(arguments: dict[str, Any]) -> None:
    with pytest.raises(PassError, match=r"no rewrite pattern 'Alfa' \(did you mean Alpha"):
        REGISTRY.select(**arguments)


def test_a_glob_of_no_pattern_is_an_error() -> None:
    with pytest.raises(PassError, match=r"no rewrite pattern 'Z\*'; [^(]*--list-patterns shows all$"):
        REGISTRY.select(["Z*"])


# Our own


def test_the_folder_is_the_registry() -> None:
    registry = own_patterns()
    homes = {pattern.__module__.removeprefix(f"{own_folder.__name__}.") for pattern in registry.patterns}
    assert all(len(home.split(".")) == 2 for home in homes), (
        "patterns stand in patterns/<family>/<rewrite>.py"
    )
    assert set(registry.origins.values()) == {OWN}
    assert {"CastCast", "ClipClip"} <= set(names_of(registry.patterns))
    assert not any(pattern.is_abstract for pattern in registry.patterns)


def test_a_base_of_patterns_is_none() -> None:
    module = ModuleType("some_module")
    base = type("Base", (PatternOptimization,), {"__module__": "some_module"}, abstract=True)
    vars(module).update(Base=base, Alpha=ALPHA)
    assert patterns_in(module) == []


# Registered ones


@pytest.fixture
def registered() -> Generator[type[PatternOptimization]]:
    pattern = made("Registered")
    yield register(pattern)
    unregister(pattern)


def test_a_registered_pattern_is_known_everywhere(registered: type[PatternOptimization]) -> None:
    assert current_patterns().select(["Registered"]) == (registered,)
    assert current_patterns().origins["Registered"] == "registered"
    assert register(registered) is registered  # once more is no clash
    unregister(registered)
    assert "Registered" not in names_of(current_patterns().patterns)


def test_another_pattern_of_a_registered_name_is_an_error(registered: type[PatternOptimization]) -> None:
    with pytest.raises(PassError, match=r"two rewrite patterns are called 'Registered': .*test_registry"):
        register(made("Registered"))
    assert current_patterns().select(["Registered"]) == (registered,)


def test_a_registered_pattern_replaces_ours_only_if_it_says_so() -> None:
    with pytest.raises(PassError, match="name is 'CastCast', which onnxloom has already"):
        register(made("CastCast"))
    with pytest.raises(PassError, match="is no rewrite pattern"):
        register(PatternOptimization)
    pattern = made("CastCast", replaces_builtin=True)
    pattern.replaces_builtin = True
    register(pattern)
    try:
        assert current_patterns().select(["CastCast"]) == (pattern,)
        assert names_of(current_patterns().patterns).count("CastCast") == 1
    finally:
        unregister(pattern)


# Those of a call


def test_patterns_of_a_call_are_known_inside_it_only() -> None:
    with use_patterns([ALPHA, BETA()]) as registry:
        assert registry.select(["Alpha", "Beta"]) == (ALPHA, BETA)
        assert registry.origins["Alpha"] == "this call"
        with use_patterns([made("Alpha")]) as inner:
            assert inner.select(["Alpha"]) != (ALPHA,)
            assert inner.select(["Beta"]) == (BETA,)
        assert current_patterns().select(["Alpha"]) == (ALPHA,)
    assert "Alpha" not in names_of(current_patterns().patterns)


def test_a_call_may_replace_ours() -> None:
    mine = made("CastCast")
    with use_patterns([mine]):
        assert current_patterns().select(["CastCast"]) == (mine,)
    assert current_patterns().select(["CastCast"]) != (mine,)


def test_two_patterns_of_one_name_in_a_call_are_an_error() -> None:
    with use_patterns([ALPHA, ALPHA]):
        pass
    with (
        pytest.raises(PassError, match="two rewrite patterns are called 'Alpha'"),
        use_patterns([ALPHA, made("Alpha")]),
    ):
        pass


@pytest.mark.parametrize("wrong", ["Alpha", 3, PatternOptimization, int])
def test_what_is_no_pattern_is_an_error(wrong: Any) -> None:
    with pytest.raises(PassError, match="is no rewrite pattern"), use_patterns([wrong]):
        pass


# Those of plug-ins


def test_a_plugin_gives_patterns(tmp_path: Path) -> None:
    path = plugin(tmp_path, "Plugged")
    with use_plugins([path]):
        assert current_patterns().origins["Plugged"] == str(path)
    assert "Plugged" not in names_of(current_patterns().patterns)


def test_a_plugin_replaces_ours_only_if_it_says_so(tmp_path: Path) -> None:
    path = plugin(tmp_path, "CastCast")
    with (
        pytest.raises(PassError, match=r"mine.py: CastCastPattern.name is 'CastCast', which onnxloom has"),
        use_plugins([path]),
    ):
        pass
    with use_plugins([plugin(tmp_path, "CastCast", ", replaces_builtin=True")]):
        (found,) = current_patterns().select(["CastCast"])
        assert current_patterns().origins["CastCast"] == str(path) and found.__module__ != OWN


def test_two_plugins_of_one_level_may_not_share_a_name(tmp_path: Path) -> None:
    paths = [plugin(tmp_path / "a", "Plugged"), plugin(tmp_path / "b", "Plugged")]
    with pytest.raises(PassError, match="two rewrite patterns are called 'Plugged'"), use_plugins(paths):
        pass
    with use_plugins([paths[0], paths[0]]):  # one file, named twice
        pass
    with use_plugins(paths[:1]), use_plugins(paths[1:]):  # the inner one is more local
        assert current_patterns().origins["Plugged"] == str(paths[1])


# What caches ask


def test_the_fingerprint_follows_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert patterns_fingerprint() == ""
    monkeypatch.syspath_prepend(tmp_path)
    found: list[str | None] = []
    for text in (FILE, FILE, FILE.replace("never", "not now")):
        (tmp_path / "fingerprinted_patterns.py").write_text(text.format(name="Kept", options=""))
        sys.modules.pop("fingerprinted_patterns", None)
        module = __import__("fingerprinted_patterns")
        with use_patterns([module.KeptPattern]):
            found.append(patterns_fingerprint())
    assert found[0] and found[0] == found[1] != found[2]


def test_there_is_no_fingerprint_where_the_source_does_not_tell() -> None:
    class LocalPattern(ALPHA):
        name = "Local"

    orphan = made("Orphan", __module__="module_without_file")
    for pattern in (LocalPattern, orphan):
        with use_patterns([pattern]):
            assert patterns_fingerprint() is None
