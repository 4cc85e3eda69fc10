"""Memory that changed while nobody looked is told from memory that kernels and calls wrote."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest
import torch

from kagent_bench.evaluate.candidate.observe import GIVEN, OBSERVER, UNSEEN, Watch
from kagent_bench.evaluate.candidate.provenance import Provenance, storages_of


def overwrite(tensor: torch.Tensor) -> None:
    """Write to a tensor's memory as C code does."""
    ctypes.memset(tensor.data_ptr(), 1, tensor.element_size())


def told(compute: object, x: torch.Tensor) -> bool:
    """Return whether a kernel's function is told to have written out of sight."""
    assert callable(compute)
    OBSERVER.reset(0)
    with Watch(), OBSERVER.kernel_call(storages_of([x])):  # type: ignore[no-untyped-call]
        OBSERVER.returned(compute(x))
    return UNSEEN in OBSERVER.calls


def _overwritten(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    overwrite(y)
    return y


def _copied_after(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    overwrite(y)
    return y.clone()


def _below(x: torch.Tensor) -> torch.Tensor:
    with torch._C._DisableTorchDispatch():
        return x + 1


@pytest.mark.parametrize("cheat", [_overwritten, _copied_after, _below])
def test_what_nobody_saw_is_told(cheat: object) -> None:
    """Bytes written through a pointer, also when they are copied afterwards, and results of unseen calls."""
    assert told(cheat, torch.zeros(8))


def _set(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    y[:] = 2
    y[0] = torch.tensor(3.0)
    return y.view(2, 4)


def _table(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([torch.tensor([1.0, 2.0]), torch.frombuffer(bytearray(8), dtype=torch.float32), x])


@pytest.mark.parametrize(
    "honest", [_set, _table, torch.Tensor.t, torch.Tensor.share_memory_, torch.zeros_like]
)
def test_what_calls_write_is_not(honest: object) -> None:
    """Nor are tensors that are made of numbers, nor views of the input."""
    assert not told(honest, torch.zeros(8))


def test_a_buffer_is_known_in_later_calls() -> None:
    """The inputs of a call may change before the next; a kernel's own buffer may not."""
    buffer = torch.empty(0)
    x = torch.zeros(8)

    def keep(value: torch.Tensor) -> torch.Tensor:
        nonlocal buffer
        buffer = value.clone()
        return buffer

    assert not told(keep, x)
    x.fill_(4)
    assert not told(lambda _: buffer, x)
    overwrite(buffer)
    assert told(lambda _: buffer, x)


def test_a_device_may_write_to_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its copies arrive after the call that asked for them."""
    monkeypatch.setattr(OBSERVER, "host_only", False)
    assert not told(_overwritten, torch.zeros(8))


def test_nothing_is_kept_alive() -> None:
    """What a kernel frees is forgotten."""
    provenance = Provenance()
    x = torch.zeros(8)
    provenance.settle(storages_of([x]))
    overwrite(x)
    assert provenance.changed()
    del x
    assert not provenance.changed()
    assert {} == provenance._seen


N_NUMBERS = 200


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x: torch.tensor([2 * i for i in range(x.numel())]), False),
        (lambda x: torch.tensor([float(x[0])] * 20), False),
        (lambda x: torch.tensor([float(x[0])] * N_NUMBERS), True),
        (lambda x: torch.from_numpy(x.numpy() + 1), True),
    ],
)
def test_numbers_that_follow_from_the_inputs_are_told(
    make: Callable[[torch.Tensor], torch.Tensor], *, expected: bool
) -> None:
    """Tables are the same when a call comes again with other values; many other numbers are results."""
    x = torch.rand(N_NUMBERS)
    storages = storages_of([x])
    for first in (True, False):
        OBSERVER.reset(0)
        x.uniform_()
        with Watch(), OBSERVER.kernel_call(storages):  # type: ignore[no-untyped-call]
            make(x)
        assert (expected and not first) == (GIVEN in OBSERVER.calls)


def test_other_inputs_may_come_with_other_numbers() -> None:
    """A table of another case is no result of the case before."""
    for n in (100, 200):
        x = torch.rand(n)
        OBSERVER.reset(0)
        with Watch(), OBSERVER.kernel_call(storages_of([x])):  # type: ignore[no-untyped-call]
            torch.tensor(list(range(n)))
        assert GIVEN not in OBSERVER.calls


@pytest.mark.parametrize("number", [float, lambda value: int(value * 2**30)], ids=["floats", "bit patterns"])
@pytest.mark.parametrize(("n_numbers", "expected"), [(16, False), (N_NUMBERS, True)])
def test_numbers_given_one_by_one_are_told(
    n_numbers: int, number: Callable[[torch.Tensor], float], *, expected: bool
) -> None:
    """A few settings may be read from the inputs; a launch for each element gives results."""
    x = torch.rand(N_NUMBERS)
    storages = storages_of([x])
    for first in (True, False):
        OBSERVER.reset(0)
        x.uniform_()
        with Watch(), OBSERVER.kernel_call(storages):  # type: ignore[no-untyped-call]
            OBSERVER.given(0.5, [(number(x[0]) + place,) for place in range(n_numbers)])
        assert (expected and not first) == (GIVEN in OBSERVER.calls)
