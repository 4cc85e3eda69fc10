"""Calls a function that may never return: past its deadline it is abandoned."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Returned(Generic[T]):
    """The function returned in time."""

    value: T


@dataclass(frozen=True, slots=True)
class Raised:
    """The function raised in time."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Overdue:
    """The function did not return in time. Its thread goes on, unheard, and does not keep the process alive."""


def call_within(work: Callable[[], T], limit_s: float, *, name: str) -> Returned[T] | Raised | Overdue:
    """Call a function in a thread of its own and wait for it, by the monotonic clock.

    Args:
        work: What to call.
        limit_s: Seconds to wait.
        name: The thread's name, for stack dumps.
    """
    ended: list[Returned[T] | Raised] = []

    def run() -> None:
        try:
            ended.append(Returned(work()))
        except BaseException as error:  # noqa: BLE001 - SystemExit of a plugin too; the caller decides
            ended.append(Raised(error))

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    thread.join(min(limit_s, threading.TIMEOUT_MAX))
    return ended[0] if ended else Overdue()
