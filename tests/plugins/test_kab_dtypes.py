"""The bundled dtype filters."""

from __future__ import annotations

import pytest

from kab_dtypes.plugin import FILTERS, kab_dtype_filters
from kagent_bench.hooks.protocols import DtypeFilter
from kagent_bench.model.case import ITEM_BYTES, Case, StorageSpec, UniformValues
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
        assert frozenset(FILTERS.get(entry.name, ITEM_BYTES)) == loaded.dtypes


def test_mixed_keeps_cases_of_two_precisions() -> None:
    """Integers beside a floating-point tensor are no mixture; half beside float32 is."""
    (entry,) = [entry for entry in kab_dtype_filters() if entry.name == "mixed"]
    keep = entry.load()

    def case(*dtypes: str) -> Case:
        rule = UniformValues(low=0.0, high=1.0)
        storages = tuple(StorageSpec(dtype=dtype, numel=1, rule=rule) for dtype in dtypes)
        name = OperatorName.parse("add.Tensor")
        return make_case(name, (), (), storages, dtype=dtypes[0], origin="trace")

    assert keep.skip_reason(case("float16", "float32")) is None
    assert "all its floating-point arguments are float16, none mixed in" == keep.skip_reason(
        case("float16", "int64")
    )
