"""Does code run only where it can?"""

from __future__ import annotations

import pytest

import onnxloom
from onnxloom.errors import ArtifactError
from onnxloom.lowering.artifact.fit import check_processor, check_version, made_with
from onnxloom.lowering.cpu_target import CpuTarget

HOST = CpuTarget.host()


def test_what_was_made_here_fits() -> None:
    check_version(made_with())
    check_processor(HOST.triple, HOST.required)
    check_processor(HOST.triple, ())


def test_another_version() -> None:
    with pytest.raises(ArtifactError, match=rf"by onnxloom 0\.0\.7; this is onnxloom {onnxloom.__version__}"):
        check_version({**made_with(), "onnxloom": "0.0.7"})
    with pytest.raises(ArtifactError, match="by onnxloom None"):
        check_version({})


def test_other_classes_of_the_same_version() -> None:
    with pytest.raises(ArtifactError, match="another build"):
        check_version({**made_with(), "classes": "x"})


def test_another_platform() -> None:
    with pytest.raises(ArtifactError, match=f"compiled for sparc; this is {HOST.triple}"):
        check_processor("sparc", ())


def test_a_processor_that_can_do_less() -> None:
    with pytest.raises(ArtifactError, match=rf"with abc, def, which this one \({HOST.cpu}\) lacks"):
        check_processor(HOST.triple, (*HOST.required, "def", "abc"))
    with pytest.raises(ArtifactError, match="with a0, a1, a2, a3, a4 and 2 more, which"):
        check_processor(HOST.triple, [f"a{n}" for n in range(7)])
