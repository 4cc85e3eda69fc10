"""Observing a kernel from inside its own process: calls of libraries, launches, bfloat16 arithmetic, memory.

What is seen here is evidence, not proof: the kernel's code can undo it. It labels honest kernels rightly and makes
careless ones show; nothing here decides about values.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.candidate.guards import Guards
from kagent_bench.evaluate.candidate.provenance import Provenance, numbers_of, storages_of
from kagent_bench.evaluate.candidate.python_operators import (
    is_composite,
    is_written_in_python,
    run_its_kernel,
)
from kagent_bench.evaluate.candidate.signatures import launch_kind
from kagent_bench.suites.recording.dispatch_watch import DispatchWatch

if TYPE_CHECKING:
    from kagent_bench.evaluate.candidate.integrity import Snapshot

INTERPRETER_CALLS = frozenset(
    [
        "aten.new_empty.default",
        "aten.set_.source_Storage_storage_offset",
        "aten.copy_.default",
        "aten.empty.memory_format",
    ]
)
"""What Triton's interpreter itself calls while it launches."""
_UNINITIALISED = frozenset(
    ["empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_"]
)
_FRESH = _UNINITIALISED - {"resize_"} | frozenset(
    [
        "zeros",
        "zeros_like",
        "ones",
        "ones_like",
        "full",
        "full_like",
        "new_zeros",
        "new_ones",
        "new_full",
        "clone",
    ]
)
"""What returns memory of its own, which gets a guard band."""
_ALLOCATES = _FRESH | _UNINITIALISED
GIVEN = "numbers that Python made of the inputs"
"""What is told of results that were computed out of sight and then given to torch."""
UNSEEN = "memory that no kernel and no seen call wrote"
"""What is told of bytes that were computed out of sight."""
_ONE_NUMBER = "aten._local_scalar_dense.default"
"""The call that hands out a single element."""
_TO_NUMPY = ("numpy", "__array__", "__dlpack__")
"""Methods of tensors that hand their values to another library."""
_CAPSULES = ("_to_dlpack", "_to_dlpack_versioned")
"""Functions that hand a tensor's memory to another library."""
_STORAGE_READERS = ("__getitem__", "tolist", "_write_file", "_share_fd_cpu_", "_share_filename_cpu_")
"""Methods of storages that give their bytes as numbers, into a file, or as one."""
FEW_NUMBERS = 16
"""Elements that a kernel may ask for as Python numbers, as settings are; more of them are data."""
_READS_OF_ADDRESSES = frozenset(
    ["ctypes.cdata", "ctypes.memoryview_at", "ctypes.string_at", "ctypes.wstring_at"]
)
"""Audit events of Python's foreign functions with which memory is read at an address."""
_POISON = (float("nan"), -1.2345e4)
"""What fresh memory holds, in turn, so that an unwritten element shows also where NaN would be right."""
_INTEGER_POISON = (0x5A, -0x5B)
N_MONITORING_TOOLS = 6
"""Tools that Python's ``sys.monitoring`` has room for."""
MAX_KINDS = 64
"""Kinds of launches of one call that are told of."""


class Observer:
    """What was seen since the last ``reset``."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self.calls: set[str] = set()
        self.counts: Counter[str] = Counter()
        """How often each of them was made."""
        self.launches = 0
        self.kinds: set[tuple[str, str, str]] = set()
        """Kinds of the launches of the candidate's own kernels, see ``signatures``."""
        self.bf16_arithmetic = False
        self.turn = 0
        """Which poison fresh memory gets."""
        self.author = ""
        """File whose kernels count as the candidate's own."""
        self.ghost = False
        """Whether launches do nothing, to see whether anything else computes."""
        self.calling = False
        """Whether the kernel's own function runs."""
        self.guards = Guards()
        self.provenance = Provenance()
        self.host_only = True
        """Whether nothing but the host writes to its memory; a device's copies arrive when they arrive."""
        self.language: Snapshot | None = None
        """What decides what a launch computes, as it was before the kernel file was loaded."""
        self.library_functions: Snapshot | None = None
        """What decides what is read from a tensor, as it was then."""
        self._launching = 0

    def reset(self, turn: int) -> None:
        """Forget what was seen; fresh memory gets another poison."""
        self.calls.clear()
        self.counts.clear()
        self.launches = 0
        self.kinds.clear()
        self.bf16_arithmetic = False
        self.turn = turn
        self.guards.clear()

    def seen(self) -> dict[str, Any]:
        """Return what was seen, as it is sent."""
        return {
            "calls": sorted(self.calls),
            "counts": dict(self.counts),
            "launches": self.launches,
            "kinds": sorted(self.kinds),
            "bf16_arithmetic": self.bf16_arithmetic,
            "overrun": self.guards.overrun(),
        }

    @contextmanager
    def kernel_call(self, inputs: Sequence[torch.UntypedStorage] = ()) -> Iterator[None]:
        """Mark the time in which the kernel's own function runs, on inputs that somebody else has written."""
        self.provenance.begin(inputs)
        self.calling = True
        try:
            yield
        finally:
            self.calling = False

    def returned(self, value: object) -> None:
        """Look at what the kernel's function returned, before anything else is done with it."""
        _stop_tracing()
        self.look(value if isinstance(value, (list, tuple)) else (value,))
        self._note_replaced(self.library_functions)

    def look(self, values: Iterable[Any]) -> None:
        """Note memory that changed since it was last seen, or that was never seen."""
        if self.host_only and (self.provenance.changed() or self.provenance.unknown(storages_of(values))):
            self.library(UNSEEN)

    def before(self, function: Any, values: Sequence[Any]) -> list[torch.UntypedStorage] | None:
        """Look at what a call of the library may write; return it, None where nothing new comes of the call."""
        if self._launching or not self.host_only or _is_view(function):
            return None
        storages = storages_of(values) if function._schema.is_mutable else []  # noqa: SLF001 - torch has no other way
        if self.provenance.changed(storages):
            self.library(UNSEEN)
        return storages

    def after(self, written: list[torch.UntypedStorage] | None, result: object) -> None:
        """Take what a call of the library wrote as seen."""
        if written is not None:
            self.provenance.settle([*written, *storages_of([result])])

    def given(self, *values: Any) -> None:
        """Note numbers, and tensors that Python's numbers or bytes were made into."""
        if self.calling and self.host_only and self.provenance.given(storages_of(values), numbers_of(values)):
            self.library(GIVEN)

    def _note_replaced(self, snapshot: Snapshot | None) -> None:
        name = "" if snapshot is None else snapshot.replaced()
        if name:
            self.library(f"replaced {name}")

    def call(self, name: str) -> None:
        """Note an ATen call."""
        if not (self._launching and name in INTERPRETER_CALLS):
            self.calls.add(name)
            self.counts[name] += 1
            if name == _ONE_NUMBER and self.counts[name] > FEW_NUMBERS:
                self.library("tolist")

    def library(self, name: str) -> None:
        """Note that values were handed to another library than torch; the interpreter's own doing does not count."""
        if not self._launching:
            self.calls.add(name)

    def fresh(self, tensor: torch.Tensor) -> None:
        """Guard memory that the candidate allocated; what the interpreter allocates is its own."""
        if not self._launching:
            self.guards.add(tensor)

    @contextmanager
    def launch(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Iterator[None]:
        """Note a kernel launch while it runs; arguments are given where its kind is wanted."""
        code = getattr(function, "__code__", None)
        if code is not None and code.co_filename == self.author:
            self.launches += 1
            if kwargs is not None and len(self.kinds) < MAX_KINDS:
                self.kinds.add(launch_kind(function, args, kwargs))
        interpreted = kwargs is not None
        if interpreted and not self._launching:
            self._note_replaced(self.language)
            self.look([*args, *(kwargs or {}).values()])
            self.given(*numbers_of([*args, *(kwargs or {}).values()]))
        self._launching += 1
        try:
            yield
        finally:
            self._launching -= 1
            if interpreted and not self._launching:
                self.provenance.settle_all()

    def host_code(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the candidate that Triton calls while it launches, seen as what it is."""

        def called(*args: Any, **kwargs: Any) -> Any:
            launching, self._launching = self._launching, 0
            try:
                return function(*args, **kwargs)
            finally:
                self.look(())
                self._launching = launching

        return called


OBSERVER = Observer()
"""The process's observer. One process judges one kernel, so one is enough; hooks of Triton's classes need a place."""


class Watch(DispatchWatch):  # type: ignore[no-untyped-call]
    """Sees every ATen call of the candidate, and poisons fresh memory."""

    def __torch_dispatch__(  # noqa: D105 - torch's own protocol
        self,
        func: Any,
        types: Any,
        args: Any = (),
        kwargs: Any = None,
    ) -> Any:
        named = kwargs or {}
        if is_written_in_python(func):
            with self:
                return run_its_kernel(func, args, named)
        if is_composite(func):
            with self:
                return func.decompose(*args, **named)
        OBSERVER.call(str(func))
        written = OBSERVER.before(func, [*args, *named.values()])
        result = func(*args, **named)
        name = func.overloadpacket.__name__
        if name == "lift_fresh":
            OBSERVER.given(result)
        if name in _ALLOCATES and isinstance(result, torch.Tensor) and _may_be_written(result):
            if name in _FRESH:
                OBSERVER.fresh(result)
            if name in _UNINITIALISED:
                _poison(result)
        OBSERVER.after(written, result)
        return result


def watch_libraries() -> None:
    """See also what threads of the candidate call, and what it hands to NumPy; call it once, before candidates run."""
    run_thread = threading.Thread.run

    def run(self: threading.Thread) -> None:
        with Watch():  # type: ignore[no-untyped-call]
            run_thread(self)

    threading.Thread.run = run  # type: ignore[method-assign]
    for name in _TO_NUMPY:
        original = getattr(torch.Tensor, name)

        def noted(
            self: torch.Tensor, *args: Any, original: Callable[..., Any] = original, **kwargs: Any
        ) -> Any:
            OBSERVER.library("numpy")
            return original(self, *args, **kwargs)

        setattr(torch.Tensor, name, noted)
    for name in _CAPSULES:
        _note_calls(torch._C, name, "dlpack")  # noqa: SLF001 - where every way out of torch passes
    for name in _STORAGE_READERS:
        _note_calls(torch.UntypedStorage, name, "storage")
    _note_calls(torch.Tensor, "__reduce_ex__", "pickle")
    for name in ("cast", "memmove"):
        _note_calls(ctypes, name, "ctypes")
    _settle_results(torch, "frombuffer")
    _note_lists()
    sys.addaudithook(_note_address_reads)


def _note_calls(owner: Any, name: str, library: str) -> None:
    """Note calls of a function or method that hands values out of torch."""
    original = getattr(owner, name, None)
    if original is None:
        return

    def noted(*args: Any, **kwargs: Any) -> Any:
        if OBSERVER.calling:
            OBSERVER.library(library)
        return original(*args, **kwargs)

    setattr(owner, name, noted)


def _settle_results(owner: Any, name: str) -> None:
    """Take what a function returns as seen: the dispatcher does not tell of it."""
    original = getattr(owner, name)

    def noted(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if OBSERVER.calling:
            OBSERVER.provenance.settle(storages_of([result]))
            OBSERVER.given(result)
        return result

    setattr(owner, name, noted)


@cache
def _is_view(function: Any) -> bool:
    """Return whether a call of the library only looks at memory otherwise; a tensor made of numbers is new."""
    if function.overloadpacket.__name__ == "lift_fresh":
        return False
    infos = [item.alias_info for item in function._schema.returns]  # noqa: SLF001 - as above
    return any(info is not None for info in infos) and not function._schema.is_mutable  # noqa: SLF001


def _stop_tracing() -> None:
    """Let nothing of the candidate run at what the harness does next."""
    sys.settrace(None)
    sys.setprofile(None)
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        for tool in range(N_MONITORING_TOOLS):
            if monitoring.get_tool(tool) is not None:
                monitoring.free_tool_id(tool)


def _note_lists() -> None:
    original = torch.Tensor.tolist

    def noted(self: torch.Tensor) -> Any:
        if self.numel() > FEW_NUMBERS:
            OBSERVER.library("tolist")
        return original(self)

    torch.Tensor.tolist = noted  # type: ignore[method-assign, assignment]


def _note_address_reads(event: str, _: Any) -> None:
    """Note reads of memory by its address; an audit hook cannot be taken out again."""
    if event in _READS_OF_ADDRESSES and OBSERVER.calling:
        OBSERVER.library("ctypes")


def _may_be_written(tensor: torch.Tensor) -> bool:
    return (
        tensor.layout is torch.strided
        and tensor.device.type != "meta"
        and not (tensor.is_cuda and torch.cuda.is_current_stream_capturing())
    )


def _poison(tensor: torch.Tensor) -> None:
    if not tensor.numel():
        return
    turn = OBSERVER.turn % 2
    if tensor.dtype is torch.bool:
        tensor.fill_(bool(turn))
    elif tensor.is_floating_point() or tensor.is_complex():
        tensor.fill_(_POISON[turn])
    elif tensor.dtype in {torch.uint8, torch.uint16, torch.uint32, torch.uint64}:
        tensor.fill_(_INTEGER_POISON[0] + turn)
    else:
        tensor.fill_(_INTEGER_POISON[turn])
