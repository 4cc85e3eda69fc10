"""Any value as valid JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.model.json_values import json_value
from kagent_bench.model.verdict import CaseStatus, JudgedCase

JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(value=JSON_LIKE)
def test_every_value_becomes_valid_json(value: object) -> None:
    """The result survives a strict JSON round trip unchanged."""
    converted = json_value(value)
    assert converted == json.loads(json.dumps(converted, allow_nan=False))


def test_special_values_keep_their_meaning() -> None:
    """Non-finite floats, enums, paths, sets and dataclasses have one spelling each."""
    case = JudgedCase(status=CaseStatus.PASSED, reason="")
    value = {"a": math.inf, "b": math.nan, "c": Path("x/y"), "d": {"z", "y"}, "e": case}
    expected = {
        "a": "inf",
        "b": "nan",
        "c": "x/y",
        "d": ["y", "z"],
        "e": {"status": "passed", "reason": "", "survivors": []},
    }
    assert expected == json_value(value)


def test_what_has_no_json_form_is_refused() -> None:
    """A stranger's object is not turned into its repr."""
    with pytest.raises(TypeError, match="object"):
        json_value(object())
