"""Plug-ins are found by path, environment and entry point, do not clash, and fail in one line."""

from __future__ import annotations

import inspect
import os
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from onnxloom.dialects.onnx.text import make_context, parse_module
from onnxloom.errors import PassError
from onnxloom.transforms import plugins
from onnxloom.transforms.fusion import kinds as own_kinds
from onnxloom.transforms.fusion.create import FuseOpsPass
from onnxloom.transforms.fusion.kinds.elementwise import ElementwiseFusion
from onnxloom.transforms.fusion.plugins import (
    KindRegistry,
    current_registry,
    kinds_in,
    load_plugin,
    own_registry,
    use_plugins,
    use_registry,
)

GOOD = """
from typing import ClassVar
from onnxloom.dialects import onnx
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Miss

class Mine(FusionOpKindHelper):
    kind: ClassVar[str] = "{kind}"
    anchors: ClassVar[tuple] = (onnx.NegOp,)
    width: int

    @classmethod
    def detect_if_beneficial(cls, dims, anchor):
        return Miss("never")

    def verify(self, body):
        return None
"""


NEG = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %0 : tensor<4xf32>
}"""


def write(path: Path, kind: str = "demo.mine") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(GOOD.replace("{kind}", kind))
    return path


def names() -> set[str]:
    return {helper.kind for helper in current_registry().helpers}


def test_the_folder_is_the_registry():
    folder = Path(str(own_kinds.__file__)).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert {helper.kind.removeprefix("onnx.") for helper in own_registry().helpers} == files


def test_a_file_is_loaded_for_a_block_of_code(tmp_path: Path):
    path = write(tmp_path / "mine.py")
    before = names()
    with use_plugins([path]) as registry:
        assert names() == before | {"demo.mine"}
        assert registry is current_registry()
        assert [module.__file__ for module in registry.plugins] == [str(path)]
    assert names() == before


def test_a_package_is_loaded_with_its_submodules(tmp_path: Path):
    write(tmp_path / "mine" / "inner.py", "demo.inner")
    (tmp_path / "mine" / "__init__.py").write_text("from .inner import Mine\n")
    with use_plugins([tmp_path / "mine"]):
        assert "demo.inner" in names()


def test_an_imported_kind_is_not_the_plugins_own(tmp_path: Path):
    path = write(tmp_path / "mine.py")
    with path.open("a") as file:
        file.write("from onnxloom.transforms.fusion.kinds.elementwise import ElementwiseFusion\n")
    assert [helper.kind for helper in kinds_in(load_plugin(path))] == ["demo.mine"]


def test_a_plugin_may_replace_a_kind(tmp_path: Path):
    path = write(tmp_path / "mine.py", "onnx.elementwise")
    with pytest.raises(PassError, match="Mine.kind is 'onnx.elementwise', which onnxloom has already"):
        own_registry().with_plugins([load_plugin(path)])
    path.write_text(
        path.read_text().replace("(FusionOpKindHelper)", "(FusionOpKindHelper, replaces_builtin=True)")
    )
    with use_plugins([path]):
        (helper,) = current_registry().select(("onnx.elementwise",))
        assert helper is not ElementwiseFusion
    assert current_registry().select(("onnx.elementwise",)) == (ElementwiseFusion,)


def test_two_files_of_one_name_do_not_clash(tmp_path: Path):
    paths = [write(tmp_path / "a" / "mine.py", "demo.a"), write(tmp_path / "b" / "mine.py", "demo.b")]
    with use_plugins(paths):
        assert {"demo.a", "demo.b"} <= names()


def test_the_environment_names_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    paths = [write(tmp_path / "a.py", "demo.a"), write(tmp_path / "b.py", "demo.b")]
    monkeypatch.setenv("ONNXLOOM_PLUGINS", os.pathsep.join(map(str, paths)))
    assert {"demo.a", "demo.b"} <= names()
    monkeypatch.delenv("ONNXLOOM_PLUGINS")
    assert not {"demo.a", "demo.b"} & names()


def test_entry_points_name_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path / "entry_plugin_of_test.py", "demo.entry")
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("demo", "entry_plugin_of_test", plugins.ENTRY_POINT_GROUPS[1])
    broken = EntryPoint("bad", "no_such_module_of_test", plugins.ENTRY_POINT_GROUPS[0])

    # They are looked up once per process.
    monkeypatch.setattr(plugins, "_entry_points", inspect.unwrap(vars(plugins)["_entry_points"]))

    def found(points: list[EntryPoint]) -> None:
        def entry_points(group: str) -> EntryPoints:
            return EntryPoints(points).select(group=group)

        monkeypatch.setattr(plugins, "entry_points", entry_points)
        # What they name is loaded once per value of the environment variable.
        monkeypatch.setenv("ONNXLOOM_PLUGINS", os.pathsep * len(points))

    found([point])
    assert "demo.entry" in names()
    found([point, broken])
    with pytest.raises(PassError, match="plug-in bad .*no_such_module_of_test"):
        names()


LOWERS_AN_OP = """
from onnxloom.conversion.onnx_to_loom.registry import lowering
from onnxloom.dialects import onnx

@lowering(onnx.SubOp)
def lower_sub(op, inputs, builder):
    return [inputs[0]]
"""


@pytest.mark.parametrize(
    "text, message",
    [
        ("x = 1\nraise ValueError('bad\\nthing')\n", r"ValueError: bad thing \(line 2\)"),
        ("import nothing_of_this_name\n", r"ModuleNotFoundError: .*nothing_of_this_name.* \(line 1\)"),
        ("def f(:\n", "SyntaxError"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("x = 1\n", "defines no fusion kind"),
        (LOWERS_AN_OP, "lower_sub lowers a single op, which only onnxloom's own files can"),
        (GOOD.replace("    kind: ClassVar", "    kynd: ClassVar"), "Mine: a fusion kind must define 'kind'"),
    ],
)
def test_a_plugin_that_fails_is_one_line_that_names_the_file(tmp_path: Path, text: str, message: str):
    path = tmp_path / "broken.py"
    path.write_text(text)
    modules = set(sys.modules)
    with pytest.raises(PassError, match=message) as caught:
        load_plugin(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    assert not [name for name in set(sys.modules) - modules if "broken" in name]


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path):
    with pytest.raises(PassError, match="no_file.py: there is no such"):
        load_plugin(tmp_path / "no_file.py")
    with pytest.raises(PassError, match="there is no such"):
        load_plugin(tmp_path)


def test_the_fingerprint_follows_the_text_of_plugins(tmp_path: Path):
    assert own_registry().fingerprint == ""
    path = write(tmp_path / "mine.py")
    prints: list[str] = []
    for extra in ("", "", "# more\n"):
        with path.open("a") as file:
            file.write(extra)
        prints.append(own_registry().with_plugins([load_plugin(path)]).fingerprint)
    assert prints[0] == prints[1] != prints[2] and prints[0]


def test_a_registry_in_use_is_seen_by_this_block_only():
    with use_registry(KindRegistry((ElementwiseFusion,))):
        assert names() == {"onnx.elementwise"}
    assert len(names()) > 1


def test_a_kind_that_raises_at_work_is_one_line_that_names_file_and_line(tmp_path: Path):
    path = tmp_path / "raises_later.py"
    path.write_text(
        GOOD.replace("{kind}", "demo.raises").replace('return Miss("never")', "return anchor.nothing")
    )
    line = path.read_text().splitlines().index("        return anchor.nothing") + 1
    with use_plugins([path]), pytest.raises(PassError, match="AttributeError") as caught:
        FuseOpsPass().apply(make_context(), parse_module(NEG))
    message = str(caught.value)
    assert str(path) in message and f"line {line}" in message and "\n" not in message


@pytest.mark.parametrize(
    "answer, words",
    [
        ("True", "bool"),
        ("None", "NoneType"),
    ],
)
def test_an_answer_that_is_neither_match_nor_miss_is_an_error(tmp_path: Path, answer: str, words: str):
    path = tmp_path / "answers.py"
    path.write_text(GOOD.replace("{kind}", "demo.answers").replace('Miss("never")', answer))
    with use_plugins([path]), pytest.raises(PassError, match=f"Mine: .*detect_if_beneficial gives a {words}"):
        FuseOpsPass().apply(make_context(), parse_module(NEG))


def test_a_relative_path_has_line_numbers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "raises.py").write_text("x = 1\nraise ValueError('bad')\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PassError, match=r"plug-in raises.py: ValueError: bad \(line 2\)"):
        load_plugin("raises.py")


def test_a_parameter_of_the_wrong_type_is_one_line_that_names_the_file(tmp_path: Path):
    path = tmp_path / "wrong.py"
    text = GOOD.replace("{kind}", "demo.wrong").replace("import Miss", "import Match")
    path.write_text(text.replace('Miss("never")', "Match(cls('wide'), [anchor], anchor.results)"))
    with use_plugins([path]), pytest.raises(PassError, match="plug-in .*wrong.py: Mine: "):
        FuseOpsPass().apply(make_context(), parse_module(NEG))
