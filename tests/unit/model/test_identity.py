"""Case ids are content, and the JSON form of a case loses nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.model.case import (
    ITEM_BYTES,
    Case,
    IntegerValues,
    LiteralValues,
    StorageSpec,
    SymbolSpec,
    TensorSpec,
    UniformValues,
)
from kagent_bench.model.identity import canonical, decode_case, digest, encode_case, make_case
from kagent_bench.model.names import OperatorName

ADD = OperatorName("add", "Tensor")
SIZES = st.lists(st.integers(0, 9), max_size=4).map(tuple)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text(max_size=5)
    | st.builds(
        SymbolSpec,
        kind=st.sampled_from(["dtype", "layout", "memory_format", "device"]),
        name=st.sampled_from(["float16", "strided", "target"]),
    )
    | st.builds(TensorSpec, storage=st.integers(0, 2), shape=SIZES, stride=SIZES, offset=st.integers(0, 9)),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)
RULES = (
    st.builds(LiteralValues, data=st.binary(max_size=40))
    | st.builds(UniformValues, low=st.floats(allow_nan=False), high=st.floats(allow_nan=False))
    | st.builds(IntegerValues, low=st.integers(-9, 0), high=st.integers(0, 9))
)
CASES = st.builds(
    make_case,
    st.sampled_from([ADD, OperatorName("relu_", "default")]),
    st.lists(VALUES, max_size=3).map(tuple),
    st.dictionaries(st.sampled_from(["dim", "alpha", "out"]), VALUES).map(lambda found: tuple(found.items())),
    st.lists(
        st.builds(
            StorageSpec, dtype=st.sampled_from(sorted(ITEM_BYTES)), numel=st.integers(0, 99), rule=RULES
        ),
        max_size=2,
    ).map(tuple),
    dtype=st.sampled_from(["float32", "int64"]),
    origin=st.just("direct"),
    count=st.integers(1, 5),
)


@given(case=CASES)
def test_a_case_survives_a_strict_json_round_trip(case: Case) -> None:
    """Infinities, complex numbers, symbols, nested lists and literal bytes come back as they were."""
    text = json.dumps(encode_case(case), allow_nan=False)
    assert case == decode_case(json.loads(text))


@given(case=CASES, count=st.integers(1, 9), origin=st.text(max_size=4))
def test_the_id_is_that_of_the_content(case: Case, count: int, origin: str) -> None:
    """How often and where a call was seen does not make it another case; its id is made again from its parts."""
    again = make_case(
        case.operator, case.args, case.kwargs, case.storages, dtype=case.dtype, origin=origin, count=count
    )
    assert case.id == again.id


def _case(storage: StorageSpec, *args: TensorSpec | float) -> Case:
    return make_case(ADD, args, (), (storage,), dtype="float32", origin="direct")


STORAGE = StorageSpec(dtype="float32", numel=6, rule=UniformValues(low=-1.0, high=1.0))
TENSOR = TensorSpec(storage=0, shape=(2, 3), stride=(3, 1))


@pytest.mark.parametrize(
    "other",
    [
        _case(replace(STORAGE, numel=7), TENSOR),
        _case(replace(STORAGE, dtype="float16"), TENSOR),
        _case(replace(STORAGE, rule=UniformValues(low=-1.0, high=2.0)), TENSOR),
        _case(replace(STORAGE, rule=LiteralValues(data=bytes(24))), TENSOR),
        _case(STORAGE, replace(TENSOR, shape=(3, 2))),
        _case(STORAGE, replace(TENSOR, stride=(1, 2))),
        _case(STORAGE, replace(TENSOR, offset=1)),
        _case(STORAGE, TENSOR, 1.0),
        replace(_case(STORAGE, TENSOR), id=""),
    ],
)
def test_every_part_of_the_call_is_in_the_id(other: Case) -> None:
    """Another shape, stride, offset, dtype, rule or argument is another case."""
    assert _case(STORAGE, TENSOR).id != other.id


def test_the_id_is_stable() -> None:
    """Ids are stored with results, so they must not change between versions unnoticed."""
    assert "1086b15e35b1" == _case(STORAGE, TENSOR).id
    literal = replace(STORAGE, rule=LiteralValues(data=bytes(24)))
    assert "ff2e1e6cd3a4" == _case(literal, TENSOR).id


def test_canonical_bytes_do_not_depend_on_the_order_of_keys() -> None:
    """Two dictionaries that are equal have one digest."""
    assert b'{"a":1,"b":[2]}' == canonical({"b": [2], "a": 1})
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


def test_a_quarter_of_the_cases_is_held_out() -> None:
    """The split follows the content hash alone."""
    cases = [_case(replace(STORAGE, numel=numel), TENSOR) for numel in range(400)]
    assert 70 < sum(case.held_out for case in cases) < 130
