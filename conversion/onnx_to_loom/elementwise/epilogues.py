"""How does the body of a fused op run behind a product? As one function over scalars, tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import body_operands
from onnxloom.conversion.onnx_to_loom.products.product_loops import Epilogue
from onnxloom.conversion.onnx_to_loom.quantized.levels import Levels
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, is_float
from onnxloom.transforms.fusion.match import Body

Finish: TypeAlias = Callable[[Scalars, Scalar, Scalar | None], Scalar]
"""(scalars, sum of products, element of the addend) -> element of the product, on the type of sums."""


@dataclass(frozen=True)
class Addend:
    """What the product op itself adds to its sums."""

    tensor: SSAValue
    trailing: int
    """How many dims of the result follow it."""


def body_epilogue(
    body: Body,
    program: Mapping[SSAValue, SSAValue],
    builder: KernelBuilder,
    addend: Addend | None,
    finish: Finish | None,
) -> tuple[Sequence[SSAValue], Epilogue]:
    """Operands and epilogue of a body whose first op is a product; see `program_values`.

    The product is rounded to its element type before the next op, as the op alone would give it.

    Raises:
        Declined: an op has no scalar semantics.
    """
    product, *rest = body.ops
    output = product.results[0]
    addends = {} if addend is None else {addend.tensor: addend.trailing}
    reads = body_operands(rest, program, builder, made=product.results, addends=addends, share=True)
    element = buffer_element(output.type)

    def epilogue(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        values = reads.scalars(s, operands)
        if finish is not None:
            value = finish(s, value, None if addend is None else values[addend.tensor])
        values[output] = s.float_to(value, element) if is_float(element) else value
        Levels(builder, body.results).apply(s, rest, values)
        return values[body.results[0]]

    return reads.operands, epilogue
