"""Which parts of onnxruntime's interface are not there? Importing them works, using them does not."""

from __future__ import annotations

from typing import Any, NoReturn

from onnxloom.errors import UnsupportedFeatureError


class Refused:
    """Base of classes of which there are no objects."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Raises UnsupportedFeatureError."""
        raise UnsupportedFeatureError(f"{type(self).__name__} is not supported")


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise UnsupportedFeatureError("this part of onnxruntime's interface is not supported")


class SparseTensor(Refused):
    """Sparse tensors at the edge of a model (sparse initializers are read)."""

    sparse_coo_from_numpy = staticmethod(_refuse)
    sparse_csr_from_numpy = staticmethod(_refuse)


class LoraAdapter(Refused):
    """Weights that are added in a run."""


class AdapterFormat(Refused):
    """Files of such weights."""

    read_adapter = staticmethod(_refuse)


class ModelCompiler(Refused):
    """Models compiled by execution providers; `onnxloom.compile(...).save` writes compiled ones."""


class ModelPackage(Refused):
    """Several variants of a model in one file."""


class ModelPackageComponentContext(Refused):
    """Part of ModelPackage."""


class ModelPackageContext(Refused):
    """Part of ModelPackage."""


class ModelPackageOptions(Refused):
    """Part of ModelPackage."""


class OrtEpAssignedNode(Refused):
    """Which execution provider runs a node."""


class OrtEpAssignedSubgraph(Refused):
    """Which execution provider runs a part of a graph."""


class OrtEpContextData(Refused):
    """Data of execution providers."""


class OrtEpContextDataBuffer(Refused):
    """Data of execution providers."""


class OrtExternalInitializerInfo(Refused):
    """Where ModelCompiler puts an initializer."""


class OrtSyncStream(Refused):
    """An order of work on a device."""


class OrtArenaCfg(Refused):
    """How an allocator grows; memory is planned for each model."""
