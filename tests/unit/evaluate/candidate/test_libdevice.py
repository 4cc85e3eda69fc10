"""libdevice in the interpreter: the same numbers as Python's mathematics, and a word where there is no such function."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import triton.language as tl
from triton.language.extra import libdevice as stubs
from triton.language.extra.cuda import libdevice as of_cuda
from triton.runtime.interpreter import TensorHandle

from kagent_bench.evaluate.candidate import libdevice


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the functions, and take them out again afterwards."""
    for module in (stubs, of_cuda):
        for name, value in list(vars(module).items()):
            monkeypatch.setattr(module, name, value)
    libdevice.install()


def tensor(values: list[float], dtype: tl.dtype = tl.float32) -> tl.tensor:
    """Return a block as the interpreter has it."""
    data = np.array(values, dtype=np.float32 if dtype is tl.float32 else np.float64)
    return tl.tensor(TensorHandle(data, dtype), tl.block_type(dtype, [len(values)]))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("acos", math.acos),
        ("atanh", math.atanh),
        ("erf", math.erf),
        ("erfc", math.erfc),
        ("exp10", lambda x: 10.0**x),
        ("log1p", math.log1p),
        ("rsqrt", lambda x: 1 / math.sqrt(x)),
        ("tanh", math.tanh),
        ("trunc", math.trunc),
    ],
)
@pytest.mark.parametrize("module", [stubs, of_cuda])
def test_functions_of_one_number(module: object, name: str, expected: Callable[[float], float]) -> None:
    """A function of one block has Python's values in the block's dtype and shape."""
    values = [0.125, 0.5, 0.75, 0.25]
    result = getattr(module, name)(tensor(values))
    assert [expected(value) for value in values] == pytest.approx(result.handle.data.tolist(), rel=1e-6)
    assert (tl.float32, (4,), np.float32) == (result.dtype, result.shape, result.handle.data.dtype)


def test_functions_of_several_arguments() -> None:
    """Numbers meet blocks, and float64 stays float64."""
    result = stubs.pow(tensor([1.5, 2.0], tl.float64), tl.constexpr(3.0))
    assert ([3.375, 8.0], tl.float64) == (result.handle.data.tolist(), result.dtype)
    assert [7.0] == stubs.fma(tensor([2.0]), tensor([3.0]), tensor([1.0])).handle.data.tolist()


def test_rounding() -> None:
    """``rint`` rounds halves to even, ``round`` away from zero."""
    halves = [0.5, -1.5, 2.5, math.inf]
    assert [0.0, -2.0, 2.0, math.inf] == stubs.rint(tensor(halves)).handle.data.tolist()
    assert [1.0, -2.0, 3.0, math.inf] == stubs.round(tensor(halves)).handle.data.tolist()


def test_questions_are_answered_by_integers() -> None:
    """What asks of each element returns int32, as on a device."""
    result = of_cuda.isnan(tensor([math.nan, 1.0]))
    assert ([1, 0], tl.int32) == (result.handle.data.tolist(), result.dtype)


def test_integers_stay_integers() -> None:
    """``abs`` is there for integers, too."""
    data = np.array([-3, 2], dtype=np.int32)
    result = stubs.abs(tl.tensor(TensorHandle(data, tl.int32), tl.block_type(tl.int32, [2])))
    assert ([3, 2], tl.int32, np.int32) == (
        result.handle.data.tolist(),
        result.dtype,
        result.handle.data.dtype,
    )


def test_numbers_alone_are_a_limit_of_the_interpreter() -> None:
    """Without a tensor there is no dtype to compute in."""
    with pytest.raises(NotImplementedError, match="not supported in interpreter mode"):
        stubs.tanh(tl.constexpr(0.5))


def test_missing_functions_are_named() -> None:
    """A function that is not there is told as a limit of the interpreter."""
    with pytest.raises(NotImplementedError, match=r"libdevice\.norm4d is not supported in interpreter mode"):
        stubs.norm4d(tensor([1.0]), tensor([1.0]), tensor([1.0]), tensor([1.0]))
