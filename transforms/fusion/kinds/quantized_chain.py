"""`onnx.quantized_chain`: a product of 8-bit integers and the elementwise ops on its result, tile by tile.

    DequantizeLinear ─┐
    DequantizeLinear ─┴► Conv ──► Relu ──► QuantizeLinear ──► y

The factors stay integers and their sums are exact in 32 bits; scales come in where the result is made. The
float ops would round each product and sum: where that moves a value across the border between two quanta,
results differ by one quantum. `MatMulInteger` and `ConvInteger` are products of integers as they stand.

A channels-last convolution has a Transpose on both sides. Of a residual, which meets the product in an
elementwise op, the dequantization is taken in as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.semantics import scalar_semantics
from onnxloom.dialects.onnx.semantics.scalars import as_integer
from onnxloom.transforms.fusion.dequantized import PRODUCTS, dequantized_factors, transposes_around
from onnxloom.transforms.fusion.epilogue import Core, EpilogueFusion
from onnxloom.transforms.fusion.grow import Chain
from onnxloom.transforms.fusion.kinds.conv_channels_last import ConvChannelsLastFusion
from onnxloom.transforms.fusion.kinds.conv_epilogue import ConvEpilogueFusion, point_axes, unfit_window
from onnxloom.transforms.fusion.kinds.matmul_epilogue import MatMulEpilogueFusion, matmul_space
from onnxloom.transforms.fusion.match import Miss
from onnxloom.transforms.fusion.order import producer_in
from onnxloom.transforms.fusion.spaces import Read, Space, Spaces, element_of, shape_of

CONVOLUTIONS: Final = (onnx.ConvOp, onnx.ConvIntegerOp)


class QuantizedChainFusion(EpilogueFusion):
    """A product of 8-bit integers with its epilogue."""

    kind: ClassVar[str] = "onnx.quantized_chain"
    anchors: ClassVar[tuple[type[Operation], ...]] = (
        *PRODUCTS,
        onnx.MatMulIntegerOp,
        onnx.ConvIntegerOp,
    )
    benefit: ClassVar[int] = 120
    """Before the kinds of float products, which would read dequantized tensors."""

    @classmethod
    def unfit_product(cls, op: Operation) -> Miss | None:
        if isinstance(op, onnx.MatMulIntegerOp | onnx.ConvIntegerOp):
            return _unfit_integers(op)
        if isinstance(op, onnx.ConvOp):
            problem = ConvEpilogueFusion.unfit_product(op)
        else:
            problem = MatMulEpilogueFusion.unfit_product(op)
        if problem is not None:
            return problem
        factors = dequantized_factors(op)
        return factors if isinstance(factors, Miss) else None

    @classmethod
    def core_of(cls, product: Operation) -> Core | Miss:
        if not isinstance(product, PRODUCTS):
            return Core(product)
        factors = dequantized_factors(product)
        if isinstance(factors, Miss):
            return factors
        around = transposes_around(product)
        before, after = ((), ()) if around is None else (around[:1], around[1:])
        lead = (*factors.ops, *before)
        inside = {product, *lead}
        for op in lead:
            if any(use.operation not in inside for use in op.results[0].uses):
                return Miss(f"the result of {op.name} is read elsewhere")
        if factors.left is factors.right:
            return Miss(f"{product.name} of a tensor and itself")
        return Core(product, lead, after)

    @classmethod
    def product_space(cls, product: Operation, spaces: Spaces) -> Space:
        factors = product.operands[:2]
        if isinstance(product, PRODUCTS):
            found = dequantized_factors(product)
            assert not isinstance(found, Miss)
            factors = (found.left.x, found.right.x)
        if not isinstance(product, CONVOLUTIONS):
            return matmul_space(product, factors, spaces)
        around = transposes_around(product)
        result = product.results[0] if around is None else around[1].transposed
        image, weights, own = (spaces.input(value) for value in (*factors, result))
        assert image is not None and weights is not None and own is not None
        # Axes go from the last to the first.
        if around is None:
            return (*point_axes(product, image[:-2], own[:-2]), weights[-1], image[-1])
        return (weights[-1], *point_axes(product, image[1:-1], own[1:-1]), image[-1])

    @classmethod
    def unfit_operand(cls, product: Operation, read: Read) -> str | None:
        if isinstance(product, CONVOLUTIONS):
            is_first = transposes_around(product) is None
            kind = ConvEpilogueFusion if is_first else ConvChannelsLastFusion
            return kind.unfit_operand(product, read)
        return MatMulEpilogueFusion.unfit_operand(product, read)

    @classmethod
    def unfit_member(cls, op: Operation) -> Miss | None:
        # Elsewhere a dequantization is computed by what reads it.
        if isinstance(op, onnx.DequantizeLinearOp) and not _feeds_elementwise(op):
            return Miss(f"what reads the result of {op.name} is not elementwise")
        return None

    @classmethod
    def is_end(cls, op: Operation) -> bool:
        return not isinstance(op, onnx.DequantizeLinearOp)

    @classmethod
    def producers_taken(cls, op: Operation, chain: Chain) -> Sequence[Operation]:
        producers = (producer_in(chain.block, operand) for operand in op.operands)
        return [
            producer
            for producer in dict.fromkeys(producers)
            if isinstance(producer, onnx.DequantizeLinearOp)
            and producer not in chain
            and all(use.operation is op for use in producer.y.uses)
        ]


def _feeds_elementwise(op: onnx.DequantizeLinearOp) -> bool:
    readers = [use.operation for use in op.y.uses]
    return bool(readers) and all(scalar_semantics(reader) is not None for reader in readers)


def _unfit_integers(op: Operation) -> Miss | None:
    """Why a MatMulInteger or ConvInteger has no kernel here."""
    least = 3 if isinstance(op, onnx.ConvIntegerOp) else 2
    for factor in op.operands[:2]:
        shape, integer = shape_of(factor), as_integer(element_of(factor))
        if shape is None or len(shape) < least:
            return Miss(f"{op.name} of a tensor of type {factor.type}")
        if integer is None or integer.width.data != 8:
            return Miss(f"{op.name} of element type {element_of(factor)}")
    if shape_of(op.results[0]) is None:
        return Miss(f"the rank of the result of {op.name} is not known")
    return unfit_window(op) if isinstance(op, onnx.ConvIntegerOp) else None
