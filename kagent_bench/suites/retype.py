"""Changes the floating-point dtype of cases on request; indices, masks and other dtypes stay as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kagent_bench.model.case import LiteralValues, SymbolSpec
from kagent_bench.model.identity import make_case
from kagent_bench.model.selection import OperatorCases, SkippedCase
from kagent_bench.suites.trace.load import merge_sources

if TYPE_CHECKING:
    from kagent_bench.model.case import Case, StorageSpec, Value

DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
"""torch's name by the name that users give."""
_REAL = frozenset(DTYPES.values())


def retyped(item: OperatorCases, name: str) -> OperatorCases:
    """Return an operator's cases in another dtype, each once; those that cannot be changed are skipped."""
    if not name:
        return item
    dtype = DTYPES[name]
    kept: dict[str, Case] = {}
    skipped = list(item.skipped)
    for case in item.cases:
        reason = _obstacle(case, dtype)
        if reason is None:
            changed = _changed(case, dtype)
            same = kept.get(changed.id)
            kept[changed.id] = changed if same is None else _together(same, changed)
        else:
            skipped.append(SkippedCase(case=case, reason=reason))
    return replace(item, cases=tuple(kept.values()), skipped=tuple(skipped))


def _together(first: Case, second: Case) -> Case:
    """Return a case that stands for the calls of two."""
    sources = merge_sources((*first.sources, *second.sources))
    return replace(first, count=first.count + second.count, sources=sources)


def _obstacle(case: Case, dtype: str) -> str | None:
    if case.dtype == dtype:
        return None
    if case.dtype not in _REAL:
        return f"{case.dtype} cannot be changed to {dtype}"
    own = (storage for storage in case.storages if storage.dtype == case.dtype)
    if any(isinstance(storage.rule, LiteralValues) and storage.numel for storage in own):
        return f"its values are fixed in {case.dtype}, and so not changed to {dtype}"
    return None


def _changed(case: Case, dtype: str) -> Case:
    """Change what has the case's own dtype; what it is mixed with, such as statistics in float32, stays."""
    if case.dtype == dtype:
        return case
    return make_case(
        case.operator,
        tuple(_value(value, case.dtype, dtype) for value in case.args),
        tuple((name, _value(value, case.dtype, dtype)) for name, value in case.kwargs),
        tuple(_storage(storage, case.dtype, dtype) for storage in case.storages),
        computed=case.computed,
        dtype=dtype,
        origin=f"{case.origin}:as_{dtype}",
        count=case.count,
        sources=case.sources,
    )


def _storage(storage: StorageSpec, old: str, new: str) -> StorageSpec:
    return replace(storage, dtype=new) if storage.dtype == old else storage


def _value(value: Value, old: str, new: str) -> Value:
    if isinstance(value, SymbolSpec) and value.kind == "dtype" and value.name == old:
        return replace(value, name=new)
    if isinstance(value, tuple):
        return tuple(_value(item, old, new) for item in value)
    return value
