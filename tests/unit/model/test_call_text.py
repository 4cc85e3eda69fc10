"""A case in words."""

from __future__ import annotations

import pytest

from kagent_bench.model.call_text import call_text, is_contiguous
from kagent_bench.model.case import StorageSpec, SymbolSpec, TensorSpec, UniformValues, Value
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName

RULE = UniformValues(low=0.0, high=1.0)


def _text(args: tuple[Value, ...], kwargs: tuple[tuple[str, Value], ...], *dtypes: str) -> str:
    storages = tuple(StorageSpec(dtype=dtype, numel=64, rule=RULE) for dtype in dtypes)
    name = OperatorName.parse("add.Tensor")
    return call_text(make_case(name, args, kwargs, storages, dtype="float32", origin="smoke"))


def test_shows_strides_only_of_tensors_that_are_not_contiguous() -> None:
    """BackendBench's notation: the stride is given where it is not row-major."""
    plain = TensorSpec(storage=0, shape=(4, 3), stride=(3, 1))
    column = TensorSpec(storage=1, shape=(4, 1), stride=(1, 4))
    turned = TensorSpec(storage=1, shape=(4, 3), stride=(1, 4))
    assert _text((plain, column), (("alpha", 2),), "float32", "float16") == (
        "(T([4, 3], f32), T([4, 1], f16), alpha=2)"
    )
    assert _text((plain, turned), (), "float32", "bool") == "(T([4, 3], f32), T([4, 3], b8, [1, 4]))"


def test_shows_symbols_lists_and_numbers() -> None:
    """Everything that is no tensor is shown as Python would write it."""
    value: tuple[Value, ...] = (
        (1, None),
        "mean",
        float("inf"),
        True,
        2.5,
        SymbolSpec(kind="device", name="target"),
    )
    symbol = SymbolSpec(kind="dtype", name="float16")
    assert _text(value, (("dtype", symbol),)) == (
        "([1, None], 'mean', float('inf'), True, 2.5, 'target', dtype=torch.float16)"
    )


@pytest.mark.parametrize(
    ("shape", "stride", "expected"),
    [
        ((), (), True),
        ((2, 3), (3, 1), True),
        ((2, 1, 3), (3, 77, 1), True),
        ((0, 3), (9, 9), True),
        ((2, 3), (1, 2), False),
        ((2, 3), (0, 1), False),
    ],
)
def test_contiguity(shape: tuple[int, ...], stride: tuple[int, ...], *, expected: bool) -> None:
    """Dimensions of size one do not matter, and tensors without elements are contiguous."""
    assert expected == is_contiguous(shape, stride)
