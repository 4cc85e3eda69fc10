"""How launches are told from each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from kagent_bench.evaluate.candidate.signatures import launch_kind

if TYPE_CHECKING:
    import triton.language as tl


def _kernel(x: Any, n: Any, FLAG: tl.constexpr, BLOCK: tl.constexpr = 64) -> None:  # noqa: N803 - as kernels have it
    """Stand for a kernel."""


FLAG = True
FLOATS, HALVES = torch.ones(4), torch.ones(4, dtype=torch.float16)


def types(*args: Any, **kwargs: Any) -> str:
    """Return the digest of a launch's types."""
    return launch_kind(_kernel, args, kwargs)[1]


def values(*args: Any, **kwargs: Any) -> str:
    """Return the digest of a launch's compile time values."""
    return launch_kind(_kernel, args, kwargs)[2]


def test_a_kernel_is_named() -> None:
    """By its qualified name, which is the same in every process."""
    assert "_kernel" == launch_kind(_kernel, (FLOATS, 3), {"FLAG": True})[0]


@pytest.mark.parametrize(
    "other",
    [
        (HALVES, 3, True),
        (FLOATS, 3.0, True),
        (FLOATS, None, True),
        (FLOATS, 3, False),
        (FLOATS, 3, "yes"),
        ((FLOATS, FLOATS), 3, True),
        ((FLOATS, HALVES), 3, True),
        (((FLOATS,), FLOATS), 3, True),
    ],
)
def test_other_types_are_another_kind(other: tuple[Any, ...]) -> None:
    """Element types, kinds of scalars, tuples, and the values that choose branches."""
    assert types(*other) != types(FLOATS, 3, FLAG=True)
    assert types(*other) != types((FLOATS, (FLOATS,)), 3, FLAG=True)


def test_block_sizes_are_values() -> None:
    """A number known at compile time changes the second digest only; one that is not changes neither."""
    assert types(FLOATS, 3, FLAG=True, BLOCK=64) == types(FLOATS, 3, FLAG=True, BLOCK=128)
    assert values(FLOATS, 3, FLAG=True, BLOCK=64) != values(FLOATS, 3, FLAG=True, BLOCK=128)
    assert values(FLOATS, 3, FLAG=True) == values(FLOATS, 5, FLAG=True)
    assert values(FLOATS, 3, FLAG=True, num_warps=4) != values(FLOATS, 3, FLAG=True, num_warps=8)


def test_arguments_by_name_and_by_place_are_alike() -> None:
    """How an argument is handed over does not matter."""
    assert launch_kind(_kernel, (FLOATS, 3, FLAG), {}) == launch_kind(_kernel, (FLOATS, 3), {"FLAG": True})
