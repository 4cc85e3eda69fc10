"""What torch itself records where the dispatch mode sees nothing."""

from __future__ import annotations

import _thread
from typing import TYPE_CHECKING

import pytest
import torch

from kagent_bench.evaluate.candidate.observe import OBSERVER, Watch
from kagent_bench.evaluate.candidate.operator_record import record_operators
from kagent_bench.evaluate.oracle.work import recorded_compute

if TYPE_CHECKING:
    from collections.abc import Callable


def _below_the_mode(x: torch.Tensor) -> None:
    keys = torch._C.DispatchKey
    with (
        torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(keys.Python)),
        torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(keys.PythonTLSSnapshot)),
    ):
        torch.relu_(x)


def _in_a_raw_thread(x: torch.Tensor) -> None:
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        torch.relu_(x)
        done.release()

    _thread.start_new_thread(run, ())
    done.acquire()


@pytest.mark.parametrize("compute", [_below_the_mode, _in_a_raw_thread])
def test_calls_that_the_mode_does_not_see_are_recorded(compute: Callable[[torch.Tensor], None]) -> None:
    """Below the mode, and in a thread that Python's own module does not know."""
    OBSERVER.reset(0)
    with Watch(), record_operators() as names:  # type: ignore[no-untyped-call]
        compute(torch.empty(64))
    assert not any("relu" in name for name in OBSERVER.seen()["calls"])
    assert "aten::relu_" in recorded_compute(names)


def test_memory_views_and_settings_are_no_computing() -> None:
    """What honest kernels call is recorded and harmless, the poison of fresh memory included."""
    OBSERVER.reset(1)
    with Watch(), record_operators() as names:  # type: ignore[no-untyped-call]
        x = torch.empty(8, 8)
        x.t().contiguous().to(torch.float16).reshape(-1, 2).flatten().view(8, 8).unsqueeze(0).expand(3, 8, 8)
        torch.full((3,), 1.0), torch.zeros(3), torch.arange(5), torch.tensor([1, 2]), torch.empty_like(x)
        x[0, 0].item(), x[1:3, ::2], x.chunk(2), torch.result_type(x, 1.0), torch.ones(2).clone()
    assert "aten::empty_like" in names
    assert () == recorded_compute(names)
