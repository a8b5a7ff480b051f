"""Exit codes and error lines of `onnxloom-opt`, and what a pass may do to it."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException
from xdsl.xdsl_opt_main import xDSLOptMain

from onnxloom import universe
from onnxloom.errors import PassError
from onnxloom.tools.onnxloom_opt import main

MODEL = '<ir_version: 10, opset_import: ["" : 21]> g (float[4] x) => (float[4] y) { y = Add(x, x) }'
ADD = """
func.func @main_graph(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.Add"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  "onnx.Return"(%0) : (tensor<2xf32>) -> ()
}
"""
XDSL_PASSES = "onnx-shape-inference,fuse-ops,convert-onnx-to-loom"
FINE = 'func.func @f() {\n  "func.return"() : () -> ()\n}\n'


@dataclass(frozen=True)
class Options(ModulePass):
    """Writes its options into the module."""

    name = "options"

    flag: bool = False
    rate: float = 1.0
    names: tuple[str, ...] = ()
    size: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["got"] = StringAttr(f"{self.flag} {self.rate!r} {self.names} {self.size}")


class Crashing(ModulePass):
    name = "crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("deep inside")


class Refusing(ModulePass):
    name = "refuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassError("refuse: func.func @f has no operands")


class RefusingLikeXdsl(ModulePass):
    name = "refuse-like-xdsl"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.emit_error("drawn into the module", PassFailedException("cannot\nbe done"))


class Breaking(ModulePass):
    """Leaves a function without terminator."""

    name = "break-ir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, ReturnOp):
                inner.detach()
                inner.erase()


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs the driver in process on text from stdin, with the passes of this file added."""
    passes = {
        cls.name: (lambda cls=cls: cls) for cls in (Options, Crashing, Refusing, RefusingLikeXdsl, Breaking)
    }
    monkeypatch.setattr(universe, "passes", lambda: passes)
    monkeypatch.delenv("ONNXLOOM_TRACEBACK", raising=False)

    def call(*args: str, text: str | bytes = FINE) -> tuple[int, str, str]:
        data = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = main(args)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def assert_one_line(err: str) -> None:
    assert err.count("\n") == 1, err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("spec", "got"),
    [
        ("options", "False 1.0 () None"),
        ("options{flag}", "True 1.0 () None"),
        ("options{flag=false}", "False 1.0 () None"),
        ("options{rate=2}", "False 2.0 () None"),
        ("options{rate=2.5 size=3}", "False 2.5 () 3"),
        ("options{names=a,b}", "False 1.0 ('a', 'b') None"),
    ],
)
def test_pass_options(run: Callable[..., Any], spec: str, got: str) -> None:
    code, out, err = run("-p", spec)
    assert (code, err) == (0, "")
    assert f'got = "{got}"' in out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["-p", "optoins"], "unknown pass 'optoins' (did you mean options?)"),
        (["-p", "options{no=1}"], "pass 'options' has no option 'no' (it has flag, rate, names, size)"),
        (["-p", "fuse-ops{no-such=1}"], "has no option 'no-such' (it has kinds, disable, disable-fused-op)"),
        (["-p", "fuse-ops{disable-fused-op=3}"], "option 'disable-fused-op' of pass 'fuse-ops' expects bool"),
        (["-p", "options{size=big}"], "option 'size' of pass 'options' expects int|None, got big"),
        (["-p", "options{rate"], "expected"),
        (["-p", "options;"], "unknown token"),
        (["-t", "nothing"], "'nothing'"),
        (["-f", "nothing"], "'nothing'"),
        (["--nothing"], "unrecognized arguments: --nothing"),
    ],
)
def test_wrong_command_line_is_exit_code_2(run: Callable[..., Any], args: list[str], said: str) -> None:
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert said in err
    assert_one_line(err)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("func.func @f( {", "<stdin>:1:"),
        (
            '\n\n  "onnx.Nothing"() : () -> ()',
            "<stdin>:3:3: error: Operation onnx.Nothing is not registered",
        ),
        ("func.func @f() {\n  %x = arith.constant 1 : i32\n}\n", "<stdin>:2:3: error: "),
        ("", "<stdin>:1:1: error: "),
        (b"\xff\xfe nonsense", "line 1 is not UTF-8 text"),
        ("(" * 100_000, "<stdin>:1:1: error: "),
        ("%0 = " + "tuple<" * 5000, "<stdin>:"),
    ],
)
def test_wrong_text_is_exit_code_1(run: Callable[..., Any], text: str | bytes, said: str) -> None:
    code, out, err = run(text=text)
    assert (code, out) == (1, "")
    assert said in err
    assert_one_line(err)


def test_column_of_an_error(run: Callable[..., Any]) -> None:
    _, _, err = run(text='func.func @f() {\n    "onnx.Nothing"() : () -> ()\n}')
    assert err.startswith("<stdin>:2:5:")


def test_missing_file_is_exit_code_1(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "absent.mlir"
    code, out, err = run(str(path))
    assert (code, out) == (1, "")
    assert err == f"{path}: error: No such file or directory\n"


def test_folder_as_input_is_exit_code_1(run: Callable[..., Any], tmp_path: Path) -> None:
    code, _, err = run(str(tmp_path))
    assert code == 1
    assert_one_line(err)


def test_pass_that_refuses_is_exit_code_1(run: Callable[..., Any]) -> None:
    code, out, err = run("-p", "refuse")
    assert (code, out) == (1, "")
    assert err == "<stdin>: error: refuse: func.func @f has no operands\n"


def test_error_drawn_into_the_module_is_one_line(run: Callable[..., Any]) -> None:
    code, _, err = run("-p", "refuse-like-xdsl")
    assert code == 1
    assert err == "<stdin>: error: cannot be done (in pass 'refuse-like-xdsl')\n"


def test_crashing_pass_is_exit_code_3_and_says_how_to_report(run: Callable[..., Any]) -> None:
    code, out, err = run("-p", "crash")
    assert (code, out) == (3, "")
    assert "internal error in pass 'crash': KeyError: 'deep inside'" in err
    assert "please report it" in err
    assert_one_line(err)


def test_traceback_on_request(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXLOOM_TRACEBACK", "1")
    _, _, err = run("-p", "crash")
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("<stdin>: error: internal error")


def test_verify_each_names_the_pass_that_broke_the_ir(run: Callable[..., Any]) -> None:
    code, out, err = run("-p", "break-ir,options", "--verify-each")
    assert (code, out) == (3, "")
    assert "pass 'break-ir' left invalid IR" in err
    assert_one_line(err)


def test_result_is_verified_without_verify_each(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONNXLOOM_VERIFY_EACH", raising=False)
    code, out, _ = run("-p", "break-ir,options")
    assert (code, out) == (3, "")
    assert run("-p", "break-ir", "--disable-verify")[0] == 0


def test_output_file_is_not_touched_by_a_failing_run(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "out.mlir"
    path.write_text("before")
    assert run("-p", "crash", "-o", str(path))[0] == 3
    assert path.read_text() == "before"
    assert run("-o", str(path)) == (0, "", "")
    assert "func.func @f" in path.read_text()


@pytest.mark.parametrize(
    ("file", "args", "expected"),
    [
        ("a.mlir", [], '"onnx.Add"(%x, %x)'),
        ("m.onnx", [], '"onnx.Add"'),
        ("m.onnx", ["-t", "onnx{opset=21}"], 'op_type: "Add"'),
        ("a.mlir", ["-p", XDSL_PASSES, "-t", "numba"], "@njit"),
        ("a.mlir", ["-p", XDSL_PASSES, "-t", "loom-llvm"], "define "),
    ],
)
def test_plain_xdsl_opt_sees_dialects_passes_targets_and_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, args: list[str], expected: str
) -> None:
    (tmp_path / "a.mlir").write_text(ADD)
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "m.onnx")
    xDSLOptMain(args=[str(tmp_path / file), *args]).run()
    assert expected in capsys.readouterr().out


def test_names_in_plain_xdsl_opt_do_not_clash_with_its_own() -> None:
    help_command = [sys.executable, "-m", "xdsl.tools.xdsl_opt", "--help"]
    shown = subprocess.run(help_command, capture_output=True, text=True, timeout=60).stdout
    shown = "".join(shown.split())  # argparse breaks lines at hyphens
    for name in ("fuse-ops", "convert-onnx-to-loom", "onnx-shape-inference", "numba", "loom-llvm"):
        assert name in shown


def test_as_a_process(tmp_path: Path) -> None:
    driver = [sys.executable, "-m", "onnxloom.tools.onnxloom_opt"]
    good = subprocess.run(driver, input=FINE, capture_output=True, text=True, timeout=60)
    assert good.returncode == 0
    bad = subprocess.run(driver, input="broken", capture_output=True, text=True, timeout=60)
    assert bad.returncode == 1
    assert_one_line(bad.stderr)


def test_reader_that_leaves_early_is_no_error() -> None:
    text = "".join(f"func.func @f{i}() {{\n func.return\n}}\n" for i in range(5000))
    command = f"{sys.executable} -m onnxloom.tools.onnxloom_opt | head -1"
    done = subprocess.run(command, shell=True, input=text, capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
