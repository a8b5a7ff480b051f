"""What is a rewrite, as data? `record.py` has the parts; here are those that others use."""

from __future__ import annotations

from onnxloom.transforms.rewriting.records.digest import module_digest
from onnxloom.transforms.rewriting.records.record import RewriteLog, RewriteRecord, op_growth

__all__ = ["RewriteLog", "RewriteRecord", "module_digest", "op_growth"]
