"""The bundled dtype filters: each keeps the cases of some sample dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kagent_bench.hooks.entries import DtypeFilterEntry
from kagent_bench.hooks.specs import hookimpl
from kagent_bench.model.case import ITEM_BYTES

if TYPE_CHECKING:
    from kagent_bench.model.case import Case

FILTERS = {
    "fp16": ("float16",),
    "bf16": ("bfloat16",),
    "fp32": ("float32",),
    "fp64": ("float64",),
    "int": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    "bool": ("bool",),
}
"""The dtypes (torch's names) that each filter keeps."""
FLOATS = ("float", "bfloat", "complex")
"""How the names of floating-point and complex dtypes begin."""


@dataclass(frozen=True, slots=True)
class KeepDtypes:
    """Keeps the cases whose dtype is one of a set."""

    dtypes: frozenset[str]
    wanted: str
    """The set in words, for the reason."""

    def skip_reason(self, case: Case) -> str | None:
        """Return None to keep the case, else why it is skipped."""
        return None if case.dtype in self.dtypes else f"dtype is {case.dtype}, not {self.wanted}"


@dataclass(frozen=True, slots=True)
class KeepMixed:
    """Keeps the cases whose floating-point arguments are of more than one dtype."""

    dtypes: frozenset[str] = frozenset(ITEM_BYTES)

    def skip_reason(self, case: Case) -> str | None:
        """Return None to keep the case, else why it is skipped."""
        floats = {storage.dtype for storage in case.storages if storage.dtype.startswith(FLOATS)}
        return (
            None if len(floats) > 1 else f"all its floating-point arguments are {case.dtype}, none mixed in"
        )


def _make(name: str) -> KeepDtypes:
    dtypes = FILTERS[name]
    wanted = dtypes[0] if len(dtypes) == 1 else "an integer"
    return KeepDtypes(frozenset(dtypes), wanted)


@hookimpl
def kab_dtype_filters() -> list[DtypeFilterEntry]:
    """Return the bundled dtype filters."""
    return [
        DtypeFilterEntry(name, f"cases recorded from {', '.join(dtypes)} samples", partial(_make, name))
        for name, dtypes in FILTERS.items()
    ] + [
        DtypeFilterEntry(
            "mixed", "cases of more than one floating-point dtype, as half and float32", KeepMixed
        )
    ]
