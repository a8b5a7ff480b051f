"""Passes of plug-ins: found by name, refused where names clash, usable wherever passes are named."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from onnxloom.dialects.onnx.text import make_context, parse_module
from onnxloom.errors import PassError
from onnxloom.tools.onnxloom_opt import main
from onnxloom.tools.optimizing import Optimizing, optimize_module
from onnxloom.transforms.pass_manager.pass_runner import PassFailedWarning, run_pipeline
from onnxloom.transforms.pass_manager.pass_table import pass_class
from onnxloom.transforms.pass_manager.pass_text import parse_passes
from onnxloom.transforms.plugin_passes import plugin_passes
from onnxloom.transforms.plugins import current_plugins, use_plugins

FILE = """
from dataclasses import dataclass
from xdsl.dialects.builtin import StringAttr
from xdsl.passes import ModulePass

@dataclass(frozen=True)
class Mark(ModulePass):
    \"\"\"Marks the module.\"\"\"

    {field}
    text: str = "here"

    def apply(self, ctx, op):
        op.attributes["mark"] = StringAttr(self.text)
"""
MODULE = "func.func @f() { onnx.Return }"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(name: str = "mark", file: str = "mine.py", field: str | None = None) -> Path:
        path = tmp_path / file
        path.write_text(FILE.format(field=f"name = {name!r}" if field is None else field))
        return path

    return written


def test_a_pass_is_known_while_its_plugin_is_in_use(write: Callable[..., Path]) -> None:
    with use_plugins([write()]) as plugins:
        assert current_plugins() is plugins
        assert set(plugin_passes()) == {"mark"} and pass_class("mark") is plugin_passes()["mark"]
        module = parse_module(MODULE)
        run_pipeline(module, make_context(), parse_passes('fixed-point{pipeline="mark{text=a}"}'))
        assert "mark" in module.attributes
        skipped = parse_module(MODULE)
        run_pipeline(skipped, make_context(), parse_passes("mark"), skip=["mark"])
        assert "mark" not in skipped.attributes
    with pytest.raises(ValueError, match="unknown pass 'mark'"):
        pass_class("mark")


def test_a_name_of_our_own_is_refused(write: Callable[..., Path]) -> None:
    with (
        pytest.raises(PassError, match=r"mine.py: pass 'cleanup' is one of onnxloom's own"),
        use_plugins([write("cleanup")]),
    ):
        pass


@pytest.mark.parametrize("field", ["", "name = ''", "name = 3"])
def test_a_pass_needs_a_name(write: Callable[..., Path], field: str) -> None:
    with (
        pytest.raises(PassError, match=r"Mark.name is .*; expected the name of the pass"),
        use_plugins([write(field=field)]),
    ):
        pass


def test_two_plugins_of_one_level_may_not_share_a_name(write: Callable[..., Path]) -> None:
    paths = [write(), write(file="other.py")]
    with (
        pytest.raises(PassError, match=r"other.py: another plug-in has a pass 'mark' too"),
        use_plugins(paths),
    ):
        pass
    with use_plugins(paths[:1]), use_plugins(paths[1:]):
        assert "other" in plugin_passes()["mark"].__module__


def test_onnxloom_opt_lists_and_runs_it(
    write: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, source = write(), tmp_path / "in.mlir"
    source.write_text(MODULE)
    assert main([str(source), "--load-plugin", str(path), "-p", "mark{text=there}"]) == 0
    assert 'mark = "there"' in capsys.readouterr().out
    assert main(["--list-passes", "--load-plugin", str(path)]) == 0
    listed = capsys.readouterr().out
    assert "plug-ins:\n  mark{text=here}\n      Marks the module.\n" in listed
    assert main([str(source), "-p", "mark"]) == 2
    assert "mark" in capsys.readouterr().err
    assert main(["--list-passes"]) == 0
    ours = capsys.readouterr().out
    assert "plug-ins:" not in ours
    assert "  unroll-loops{max-trips=16 max-ops=128}\n" in ours
    assert "  fuse-ops{kinds=str,... disable=str,... disable-fused-op=false}\n" in ours


def test_onnxloom_opt_lists_patterns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[2] / "docs" / "examples" / "doubling.py"
    assert main(["--list-patterns", "--load-plugin", str(example)]) == 0
    listed = capsys.readouterr().out
    assert "onnxloom:\n" in listed and "  CastCast  (exact, after_shape_inference, priority 0" in listed
    assert f"{example}:\n  ExampleDoubling  (exact, after_shape_inference, priority 1)\n" in listed
    assert "      A product with 2 becomes a sum.\n" in listed
    assert "      x * Tanh(Softplus(x)) -> Mish(x)\n" in listed, (
        "the first line of the file where the class says nothing"
    )


def test_a_plugin_that_does_not_load_is_out_of_use_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.py").write_text("raise ValueError('bad')")
    before = current_plugins()
    assert main(["--list-passes", "--load-plugin", str(tmp_path / "broken.py")]) == 1
    assert "ValueError: bad (line 1)" in capsys.readouterr().err
    assert (
        main(
            [
                "-p",
                "no-such-pass",
                "--load-plugin",
                str(Path(__file__).parents[2] / "docs/examples/doubling.py"),
            ]
        )
        == 2
    )
    assert current_plugins() is before


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('raise KeyError("deep")', "plug-in {file}: Mark: KeyError: 'deep' (line 14) (in pass 'mark')"),
        (
            "op.body.block.first_op.body.block.last_op.detach()",
            "pass 'mark' left invalid IR: ",
        ),
    ],
)
def test_onnxloom_opt_says_whose_pass_is_at_fault(
    write: Callable[..., Path], body: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin, model = write(), tmp_path / "m.mlir"
    plugin.write_text(plugin.read_text().replace('op.attributes["mark"] = StringAttr(self.text)', body))
    model.write_text(MODULE)
    assert main([str(model), "--load-plugin", str(plugin), "-p", "mark"]) == 1
    assert message.format(file=plugin) in capsys.readouterr().err


def test_a_pass_without_apply_is_named(write: Callable[..., Path]) -> None:
    plugin = write()
    plugin.write_text(plugin.read_text().replace("def apply", "def aply"))
    with pytest.raises(PassError, match="defines no .* pass .*; Mark has no apply"), use_plugins([plugin]):
        pass


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('raise KeyError("deep")', "plug-in {file}: Mark: KeyError: 'deep' (line 14)"),
        ("import sys; sys.exit(7)", "plug-in {file}: Mark: SystemExit: 7 (line 14)"),
        ("op.body.block.first_op.body.block.last_op.detach()", "pass 'mark' left invalid IR: "),
    ],
)
def test_a_pipeline_says_so_too_and_goes_on_without_it(
    write: Callable[..., Path], body: str, message: str
) -> None:
    plugin, module = write(), parse_module(MODULE)
    plugin.write_text(plugin.read_text().replace('op.attributes["mark"] = StringAttr(self.text)', body))
    message = re.escape(message.format(file=plugin))
    before = str(module)
    with use_plugins([plugin]):
        asked = Optimizing(passes="mark")
        with pytest.warns(PassFailedWarning, match=message):
            optimize_module(module, asked)
        with pytest.raises(PassError, match=message):
            optimize_module(module, replace(asked, strict=True))
    assert str(module) == before
