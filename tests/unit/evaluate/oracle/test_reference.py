"""Running the operator itself, eagerly and in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from kagent_bench.evaluate.oracle import reference
from kagent_bench.evaluate.oracle.semantics import overload
from kagent_bench.model.case import SymbolSpec

if TYPE_CHECKING:
    from kagent_bench.model.case import Case
    from tests.unit.evaluate.oracle.conftest import CaseWriter


def run(case: Case, *storages: torch.Tensor, wide: bool = False) -> reference.Outcome:
    """Run the case's own operator."""
    return reference.run(overload(case.operator), case, storages, wide=wide)


def test_inputs_are_not_changed(write: CaseWriter) -> None:
    """An in-place operator works on private copies; the outcome shows what it left behind."""
    values = torch.ones(3)
    outcome = run(write.case("add_.Tensor", write.tensor(3), 1), values)
    assert [1.0] * 3 == values.tolist()
    assert [2.0] * 3 == outcome.storages[0].tolist()
    assert 0 == outcome.alias_of(outcome.leaves[0])


def test_float64_keeps_views_views(write: CaseWriter) -> None:
    """Upcasting the storage keeps strides, offsets and aliases."""
    tensor = write.tensor(3, 2, dtype="float16", stride=(1, 4), offset=1)
    case = write.case("t.default", tensor)
    outcome = run(case, torch.arange(case.storages[0].numel, dtype=torch.float16), wide=True)
    (leaf,) = outcome.leaves
    assert (torch.float64, (4, 1), 1) == (leaf.dtype, leaf.stride(), leaf.storage_offset())
    assert 0 == outcome.alias_of(leaf)


def test_float64_rewrites_dtype_arguments(write: CaseWriter) -> None:
    """A sum that is asked for in float16 is exact in float64 all the same."""
    case = write.case(
        "sum.dim_IntList",
        write.tensor(4, dtype="float16"),
        (0,),
        dtype=SymbolSpec(kind="dtype", name="float16"),
    )
    values = torch.tensor([2048.0, 1.0, 1.0, 1.0], dtype=torch.float16)
    assert torch.float16 is run(case, values).leaves[0].dtype
    exact = run(case, values, wide=True).leaves[0]
    assert (torch.float64, 2051.0) == (exact.dtype, exact.item())


def test_integers_and_booleans_stay_what_they_are(write: CaseWriter) -> None:
    """Indices are not upcast."""
    case = write.case("index_select.default", write.tensor(3), 0, write.tensor(2, dtype="int64"))
    outcome = run(case, torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2, 0]), wide=True)
    assert [3.0, 1.0] == outcome.leaves[0].tolist()


def test_an_operator_that_raises_is_told_from_a_lack_of_memory(write: CaseWriter) -> None:
    """A wrong call is the case's fault, memory the machine's."""
    case = write.case("mm.default", write.tensor(2, 3), write.tensor(2, 3))
    with pytest.raises(reference.ReferenceFailed, match="RuntimeError"):
        run(case, torch.ones(6), torch.ones(6))

    def full(*_: Any) -> torch.Tensor:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 10 bytes")

    with pytest.raises(MemoryError):
        reference.run(full, case, [torch.ones(6), torch.ones(6)])


def test_lists_symbols_and_numbers_become_arguments(write: CaseWriter) -> None:
    """A case's values are what the operator is called with."""
    first, second = write.tensor(2), write.tensor(2)
    seen: list[Any] = []

    def operator(*args: Any, **kwargs: Any) -> None:
        seen.extend([*args, kwargs])

    case = write.case(
        "cat.default",
        (first, second),
        1,
        None,
        (1, (2.5, True)),
        layout=SymbolSpec(kind="layout", name="strided"),
        device=SymbolSpec(kind="device", name="target"),
    )
    reference.run(operator, case, [torch.ones(2), torch.zeros(2)])
    tensors, *rest, kwargs = seen
    assert [[1.0, 1.0], [0.0, 0.0]] == [tensor.tolist() for tensor in tensors]
    assert [1, None, [1, [2.5, True]]] == rest
    assert {"layout": torch.strided, "device": torch.device("cpu")} == kwargs
