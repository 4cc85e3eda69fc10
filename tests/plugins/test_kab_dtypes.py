"""The bundled dtype filters."""

from __future__ import annotations

import pytest

from kab_dtypes.plugin import FILTERS, kab_dtype_filters
from kagent_bench.hooks.protocols import DtypeFilter
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName


def _reason(name: str, dtype: str) -> str | None:
    (entry,) = (entry for entry in kab_dtype_filters() if entry.name == name)
    case = make_case(OperatorName.parse("relu"), (), (), (), dtype=dtype, origin="smoke")
    return entry.load().skip_reason(case)


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_every_filter_keeps_its_own_dtypes_and_no_others(name: str) -> None:
    """A kept case has no reason; every other one has a reason that names both dtypes."""
    dtypes = {dtype for group in FILTERS.values() for dtype in group}
    assert set(FILTERS[name]) == {dtype for dtype in dtypes if _reason(name, dtype) is None}


def test_reason_says_which_dtype_was_wanted() -> None:
    """The reason can be read without knowing the filter."""
    assert _reason("fp16", "float32") == "dtype is float32, not float16"
    assert _reason("int", "float32") == "dtype is float32, not an integer"


def test_entries_load_filters() -> None:
    """Each entry's load keeps the protocol, and names the dtypes that it can keep."""
    for entry in kab_dtype_filters():
        loaded = entry.load()
        assert isinstance(loaded, DtypeFilter)
        assert frozenset(FILTERS[entry.name]) == loaded.dtypes
