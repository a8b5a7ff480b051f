"""The commands of `onnxloom`: one per file, found by looking into this folder.

A command module has `HELP` (one line), `add_arguments(parser)` and `run(args) -> int`, and imports what
is expensive inside `run`.
"""
