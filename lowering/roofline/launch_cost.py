"""What does each record of a plan cost at least? Its work over the limits of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.lowering.plan.stretch import Launch
from onnxloom.lowering.plan.values import Value
from onnxloom.lowering.roofline.kernel_work import Work, kernel_work
from onnxloom.lowering.roofline.machine import Machine, Stream


@dataclass(frozen=True)
class LaunchCost:
    """What one record computes and moves."""

    launch: Launch
    work: Work

    @property
    def operations(self) -> float:
        return self.work.operations

    @cached_property
    def weights(self) -> float:
        """Bytes read of constants."""
        return self._touched(self.work.loads, constant=True)

    @cached_property
    def read(self) -> float:
        """Bytes read of other values."""
        return self._touched(self.work.loads, constant=False)

    @cached_property
    def written(self) -> float:
        """Bytes written."""
        return self._touched(self.work.stores, constant=False)

    @property
    def moved(self) -> float:
        return self.weights + self.read + self.written

    def limit(self, machine: Machine, all_weights: float) -> float:
        """The least seconds on one core; `all_weights` are the bytes of constants a run goes through."""
        streams = (
            Stream(self.weights, 0.0, max(all_weights, self.weights)),
            Stream(self.read, self.written, self.read + self.written),
        )
        return machine.seconds(self.operations, streams, self._itemsize())

    def _itemsize(self) -> int:
        sizes = [value.dtype.itemsize for value in self.launch.outs[:1] if value.dtype is not None]
        return max(sizes, default=4)

    def _touched(self, accesses: Mapping[int, float], constant: bool) -> float:
        """No more than a buffer holds, or than is loaded or stored of it."""
        values: Sequence[Value] = (*self.launch.ins, *self.launch.outs)
        total = 0.0
        for number, count in accesses.items():
            value = values[number]
            if value.is_known == constant and value.dtype is not None:
                total += min(value.nbytes, count * value.dtype.itemsize)
        return total


class CostTable:
    """Costs of launches of `kernels` (by name), each counted once per sizes."""

    def __init__(self, kernels: Mapping[str, KernelOp]) -> None:
        self._kernels = kernels
        self._known: dict[tuple[str, tuple[int, ...]], Work] = {}

    def __call__(self, launch: Launch) -> LaunchCost:
        key = (launch.kernel, launch.sizes)
        work = self._known.get(key)
        if work is None:
            work = self._known[key] = kernel_work(self._kernels[launch.kernel], launch.sizes)
        return LaunchCost(launch, work)
