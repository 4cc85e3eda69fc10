"""Changes the floating-point dtype of cases on request; indices, masks and other dtypes stay as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kagent_bench.model.case import LiteralValues, SymbolSpec
from kagent_bench.model.identity import make_case
from kagent_bench.model.selection import OperatorCases, SkippedCase
from kagent_bench.suites.trace.load import merge_cases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.model.case import Case, Value

DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
"""torch's name by the name that users give."""
_WIDER = {
    **dict.fromkeys(["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"], "float32"),
    "complex32": "complex64",
}
"""float32 by the dtypes whose every number it holds."""
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
            # What the case's own dtype is mixed with, such as statistics in float32, stays.
            changed = case if case.dtype == dtype else _changed(case, {case.dtype: dtype})
            same = kept.get(changed.id)
            kept[changed.id] = changed if same is None else merge_cases(same, changed)
        else:
            skipped.append(SkippedCase(case=case, reason=reason))
    return replace(item, cases=tuple(kept.values()), skipped=tuple(skipped))


def widened(case: Case) -> Case | None:
    """Return a case with float32 in place of everything narrower; None where there is nothing, or its values are fixed."""
    if any(_fixed(case, dtype) for dtype in _WIDER):
        return None
    changed = _changed(case, _WIDER)
    return changed if changed.id != case.id else None


def _obstacle(case: Case, dtype: str) -> str | None:
    if case.dtype == dtype:
        return None
    if case.dtype not in _REAL:
        return f"{case.dtype} cannot be changed to {dtype}"
    if _fixed(case, case.dtype):
        return f"its values are fixed in {case.dtype}, and so not changed to {dtype}"
    return None


def _fixed(case: Case, dtype: str) -> bool:
    own = (storage for storage in case.storages if storage.dtype == dtype)
    return any(isinstance(storage.rule, LiteralValues) and storage.numel > 0 for storage in own)


def _changed(case: Case, dtypes: Mapping[str, str]) -> Case:
    """Return a case with other dtypes, by those of now; tensors and symbols of any other stay."""
    dtype = dtypes.get(case.dtype, case.dtype)
    return make_case(
        case.operator,
        tuple(_value(value, dtypes) for value in case.args),
        tuple((name, _value(value, dtypes)) for name, value in case.kwargs),
        tuple(replace(storage, dtype=dtypes.get(storage.dtype, storage.dtype)) for storage in case.storages),
        computed=case.computed,
        dtype=dtype,
        origin=f"{case.origin}:as_{dtype}",
        count=case.count,
        sources=case.sources,
    )


def _value(value: Value, dtypes: Mapping[str, str]) -> Value:
    if isinstance(value, SymbolSpec) and value.kind == "dtype":
        return replace(value, name=dtypes.get(value.name, value.name))
    if isinstance(value, tuple):
        return tuple(_value(item, dtypes) for item in value)
    return value
