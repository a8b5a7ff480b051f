"""How do the parts of `onnxloom-opt` play together? One chunk of input after the other, on xDSL's driver."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from onnxloom import universe
from onnxloom.dialects.onnx.weights_file import WeightsWriter
from onnxloom.dialects.onnx.weights_source import weights_source
from onnxloom.errors import OnnxloomError, PassError
from onnxloom.tools.failures import EXIT_INPUT, EXIT_OK, CommandLineError, Failure, describe, one_line, report
from onnxloom.tools.opt import arguments, pass_specs, source
from onnxloom.tools.opt.checking import InvalidIR, verify
from onnxloom.tools.opt.diagnostics import Message, expectations, mismatches
from onnxloom.tools.opt.output import BinaryTarget, Output, TextForm, check_weights_out, check_weights_read
from onnxloom.tools.opt.pass_runner import PassFailure, PassRunner, Watch
from onnxloom.tools.streams import complain
from onnxloom.transforms.folding.evaluator import use_evaluator
from onnxloom.transforms.pass_manager.pass_text import flattened
from onnxloom.transforms.pass_manager.skipping import leave_out, passes_to_skip

PROGRAM = "onnxloom-opt"


@dataclass(eq=False)
class _Stopped(Exception):
    """Work on a chunk ended early with this failure; `cause` is the exception behind it."""

    failure: Failure
    cause: BaseException


class OnnxloomOpt(xDSLOptMain):
    """xDSL's modular optimizer driver with our dialects, passes, targets and rules."""

    def __init__(self, args: list[str] | None = None) -> None:
        super().__init__("Runs passes over ONNX models and .mlir files.", args)

    # Registration: everything xDSL and other installed universes have, then ours under its plain names.

    def register_all_dialects(self) -> None:
        ours = universe.dialects()
        for name, factory in {**Universe.get_multiverse().all_dialects, **ours}.items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        others = Universe.get_multiverse().all_passes
        hidden = set(universe.XDSL_OPT_NAMES.values())
        self.available_passes = universe.passes()
        for name, factory in others.items():
            if name not in self.available_passes and name not in hidden:
                self.available_passes[name] = factory

    def register_all_targets(self) -> None:
        others = Universe.get_multiverse().all_targets
        hidden = set(universe.XDSL_OPT_NAMES.values())
        self.available_targets = {"mlir": others["mlir"], **universe.targets()}
        for name, factory in others.items():
            if name not in self.available_targets and name not in hidden:
                self.available_targets[name] = factory

    def register_all_frontends(self) -> None:
        self.available_frontends = {**Universe.get_multiverse().all_frontends, **universe.frontends()}

    def register_all_arguments(self, arg_parser: Any) -> None:
        arguments.register(arg_parser, self.available_targets)

    def setup_pipeline(self) -> None:
        self._in_use = ExitStack()
        try:
            self._plug_in()
            self._build_runner()
        except BaseException:
            self._in_use.close()
            raise

    def _build_runner(self) -> None:
        passes = pass_specs.build_pipeline(self.args.passes, self.available_passes)
        passes = leave_out(passes, self._passes_to_skip())
        after = frozenset(["*"] if self.args.print_ir_after_change else self.args.print_ir_after)
        watch = Watch(
            before=frozenset(self.args.print_ir_before),
            after=after,
            only_changes=self.args.print_ir_after_change,
            timing=self.args.time_passes,
            statistics=self.args.statistics,
            reports=self.args.report,
            verify_each=self.args.verify_each and not self.args.trust,
            verify_result=not self.args.trust,
        )
        known = {"*", *(module_pass.name for module_pass in flattened(passes))}
        for name in (*watch.before, *watch.after):
            if name not in known:
                raise CommandLineError(f"--print-ir names pass '{name}', which is not in the pipeline")
        self.runner = PassRunner(passes, watch, replace(self._text_form(), elide_weights=True).text)

    def _passes_to_skip(self) -> frozenset[str]:
        try:
            return passes_to_skip(self.args.skip_pass, self.available_passes)
        except PassError as error:
            raise CommandLineError(str(error)) from None

    def _plug_in(self) -> None:
        """Loads the plug-ins of the command line, which stay in use until the work is done."""
        from onnxloom.transforms.plugins import has_installed_plugins, use_plugins

        if self.args.load_plugin:
            self._in_use.enter_context(use_plugins(self.args.load_plugin))
        elif not has_installed_plugins():
            return
        from onnxloom.transforms.plugin_passes import plugin_passes

        for name, cls in plugin_passes().items():
            self.available_passes[name] = partial(_itself, cls)

    # The work.

    def execute(self) -> int:
        """Do what the arguments say; the exit code."""
        with self._in_use:
            return self._execute()

    def _execute(self) -> int:
        if self.args.version:
            from onnxloom.tools.opt.listing import versions

            print(versions())
            return EXIT_OK
        if self.args.print_pipeline is not None:
            from onnxloom.tools.opt.listing import print_pipeline

            print_pipeline(self.args.print_pipeline, self._passes_to_skip())
            return EXIT_OK
        if self.args.list_passes:
            from onnxloom.tools.opt.listing import list_passes

            list_passes(self.available_passes)
            return EXIT_OK
        if self.args.list_patterns:
            from onnxloom.tools.opt.listing import list_patterns

            list_patterns()
            return EXIT_OK
        return self._process_all()

    def _process_all(self) -> int:
        check_weights_out(self.args.weights_out, self.args.input_file, self.args.output_file)
        output = Output(self.args.output_file)
        code = EXIT_OK
        chunks = source.read(self.args.input_file, split=self.args.split_input_file)
        with (
            WeightsWriter(self.args.weights_out) if self.args.weights_out else nullcontext() as self._weights
        ):
            for chunk in chunks:
                code = max(code, self._process(chunk, output))
            if code != EXIT_OK and self._weights is not None:
                self._weights.discard()
        self.runner.report()
        if code == EXIT_OK:
            output.finish()
        return code

    def _process(self, chunk: source.Chunk, output: Output) -> int:
        if self.args.verify_diagnostics:
            return self._process_expecting(chunk, output)
        try:
            with self._watching_warnings(chunk, complain):
                self._transform(chunk, output)
        except _Stopped as stopped:
            return report(PROGRAM, stopped.failure, stopped.cause)
        return EXIT_OK

    def _process_expecting(self, chunk: source.Chunk, output: Output) -> int:
        expected = expectations(chunk.text, chunk.first_line)
        produced: list[Failure] = []
        try:
            with self._watching_warnings(chunk, produced.append):
                self._transform(chunk, output)
        except _Stopped as stopped:
            produced.append(stopped.failure)
        complaints = mismatches(expected, [Message(f.kind, f.message, f.line) for f in produced])
        for line, complaint in complaints:
            report(PROGRAM, Failure(complaint, EXIT_INPUT, line, file=chunk.name))
        return EXIT_INPUT if complaints else EXIT_OK

    @contextmanager
    def _watching_warnings(self, chunk: source.Chunk, see: Callable[[Failure], None]) -> Generator[None]:
        """Hands on each warning of a pass, placed where its op stands."""

        def show(message: Warning | str, *_args: Any, **_kwargs: Any) -> None:
            warning = Failure(one_line(message), EXIT_OK, kind="warning")
            see(_placed(warning, getattr(message, "op", None), self._places, chunk))

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show
            yield

    def _transform(self, chunk: source.Chunk, output: Output) -> None:
        """Parse, verify, run passes, verify, print. Raises _Stopped."""
        self._places = source.Places()
        try:
            module, self._places = self._read(chunk)
            check_weights_read(self.args.weights_out, module)
            if not self.args.trust:
                verify(module)
            from onnxloom.lowering.evaluate_op import HostEvaluator

            with use_evaluator(HostEvaluator()):
                self.runner.run(self.ctx, module)
            self._emit(module, output)
        except source.SourceError as error:
            raise _Stopped(
                Failure(str(error), EXIT_INPUT, error.line, error.column, chunk.name), error
            ) from None
        except InvalidIR as error:
            raise _Stopped(
                _placed(Failure(str(error), EXIT_INPUT), error.op, self._places, chunk), error
            ) from None
        except PassFailure as error:
            cause = error.__cause__ or error
            raise _Stopped(_placed(error.failure, error.op, self._places, chunk), cause) from None
        except (BrokenPipeError, KeyboardInterrupt, CommandLineError):
            raise
        except OSError as error:
            if error.filename is None:  # of stdout
                raise
            raise _Stopped(describe(error), error) from None
        except Exception as error:
            failure = describe(error)
            named = chunk.name in failure.message
            raise _Stopped(failure if named else replace(failure, file=chunk.name), error) from None

    def _read(self, chunk: source.Chunk) -> tuple[ModuleOp, source.Places]:
        spec = pass_specs.parse_one(self.args.frontend, "frontend") if self.args.frontend else None
        if spec is None and source.is_onnx(chunk):
            spec = pass_specs.parse_one("onnx", "frontend")
        if spec is None or spec.name == "mlir":
            with weights_source(*self.args.weights_dir):
                return source.parse(chunk, self.ctx, implicit_module=not self.args.no_implicit_module)
        factory: Callable[[], Any] = pass_specs.look_up(spec.name, self.available_frontends, "frontend")
        frontend = pass_specs.build(spec, factory(), "frontend")
        return frontend.parse(self.ctx, _stream(chunk), chunk.name), source.Places()

    def _emit(self, module: ModuleOp, output: Output) -> None:
        spec = pass_specs.parse_one(self.args.target, "target")
        if spec.name == "mlir":
            output.text(replace(self._text_form(), weights_out=self._weights).text(module))
            return
        factory: Callable[[], type[Target]] = pass_specs.look_up(spec.name, self.available_targets, "target")
        target = pass_specs.build(spec, factory(), "target")
        if isinstance(target, BinaryTarget):
            output.binary(target.emit_bytes(self.ctx, module))
            return
        stream = StringIO()
        try:
            target.emit(self.ctx, module, stream)
        except Exception as error:
            if spec.name in universe.targets() or isinstance(error, OnnxloomError | OSError):
                raise
            # Targets of others say in many ways that they have no code for an op.
            reason = one_line(error)[:200] or type(error).__name__
            raise PassError(f"target {spec.name} has no code for this module: {reason}") from error
        output.text(stream.getvalue())

    def _text_form(self) -> TextForm:
        return TextForm(
            generic=self.args.print_op_generic,
            properties_as_attributes=self.args.print_no_properties,
            debuginfo=self.args.print_debuginfo,
            elide_weights=self.args.elide_weights,
        )


def _itself(cls: type[ModulePass]) -> type[ModulePass]:
    return cls


def _stream(chunk: source.Chunk) -> Any:
    """The bytes of a chunk; a whole file is opened, so that a front end may map it instead of reading it."""
    from io import BytesIO

    return chunk.path.open("rb") if chunk.path is not None else BytesIO(chunk.piece)


def _placed(failure: Failure, op: Any, places: source.Places, chunk: source.Chunk) -> Failure:
    place = places.find(op)
    if place is None:
        return replace(failure, file=chunk.name)
    return replace(failure, file=chunk.name, line=place[0], column=place[1])
