"""Are two modules the same, weights included, wherever their weights are kept?"""

from __future__ import annotations

import hashlib
from io import StringIO

from xdsl.ir import Operation

from onnxloom.dialects.onnx.text import OnnxPrinter
from onnxloom.dialects.onnx.weights import RESOURCE, WeightsAttr


def module_digest(module: Operation) -> str:
    """SHA-256 of what the module is printed as, with the digest of the data in place of each weight."""
    stream = StringIO()
    _Printer(stream=stream, print_generic_format=True).print_op(module)
    return hashlib.sha256(stream.getvalue().encode("utf-8", "surrogatepass")).hexdigest()


class _Printer(OnnxPrinter):
    def _print_weights(self, attr: WeightsAttr) -> None:
        place = attr.place
        is_left_out = place is not None and place.file == RESOURCE
        self.print_string(f"#weights<{'' if is_left_out else attr.digest()} : ")
        self.print_attribute(attr.type)
        self.print_string(">")
