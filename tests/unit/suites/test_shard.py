"""The file form of a recorded dtype."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from kagent_bench.errors import InputError
from kagent_bench.model.case import LiteralValues, StorageSpec, TensorSpec
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.model.selection import OperatorCases
from kagent_bench.suites.shard import Shard, write_shard

if TYPE_CHECKING:
    from pathlib import Path

RELU = OperatorName.parse("relu")


def _write(path: Path) -> OperatorCases:
    storage = StorageSpec(dtype="bool", numel=2, rule=LiteralValues(data=b"\x00\x01"))
    tensor = TensorSpec(storage=0, shape=(2,), stride=(1,))
    cases = tuple(
        make_case(RELU, (tensor, number), (), (storage,), dtype="bool", origin="direct")
        for number in range(3)
    )
    item = OperatorCases(operator=RELU, kind="value", cases=cases)
    write_shard(path, [item], {RELU: {"generator": 4}}, {"dtype": "bool"})
    return item


def test_round_trip(tmp_path: Path) -> None:
    """Cases come back equal and in order, with kind, reasons and facts."""
    item = _write(tmp_path / "a.sqlite")
    shard = Shard(tmp_path / "a.sqlite")
    assert item.cases == tuple(shard.cases(RELU, 0))
    assert item.cases[:2] == tuple(shard.cases(RELU, 2))
    assert {RELU: "value"} == shard.kinds
    assert {"generator": 4} == shard.left_out(RELU)
    assert shard.facts["dtype"] == "bool"
    shard.close()


def test_a_changed_case_is_refused(tmp_path: Path) -> None:
    """One changed byte is noticed, and the message says what to do."""
    path = tmp_path / "a.sqlite"
    _write(path)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE cases SET body = replace(body, 'direct', 'Direct') WHERE rank = 1")
    connection.close()
    shard = Shard(path)
    with pytest.raises(InputError, match=r"relu\.default was changed") as caught:
        list(shard.cases(RELU, 0))
    assert "delete the file" in caught.value.hint
    shard.close()


def test_another_file_is_no_shard(tmp_path: Path) -> None:
    """The error names the file."""
    path = tmp_path / "b.sqlite"
    path.write_bytes(b"no database at all")
    with pytest.raises(InputError, match=r"b\.sqlite"):
        Shard(path)
