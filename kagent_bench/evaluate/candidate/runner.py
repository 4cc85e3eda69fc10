"""The forked process: contains itself, loads one kernel file, and calls it as often as it is told.

Everything that runs here is untrusted from the moment the kernel file is loaded. This process never holds
expected values, the seed, tolerances, keys, other kernels, or a channel into the results.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import mmap
import os
import sys
import sysconfig
import tempfile
import traceback
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.candidate import triton_hooks
from kagent_bench.evaluate.candidate.integrity import TORCH, TRITON, Snapshot
from kagent_bench.evaluate.candidate.memory import Call
from kagent_bench.evaluate.candidate.module_entry import CLASS, find_entry
from kagent_bench.evaluate.candidate.observe import OBSERVER, Watch, watch_libraries
from kagent_bench.evaluate.candidate.operator_record import record_operators
from kagent_bench.evaluate.candidate.outputs import TooLarge, describe
from kagent_bench.evaluate.candidate.timed import TimedCalls, WrongShape
from kagent_bench.evaluate.containment import contain, default_policy
from kagent_bench.evaluate.protocol import Channel, Closed

if TYPE_CHECKING:
    from collections.abc import Callable

TRACE_LINES = 12
"""Lines of a traceback that are kept for the kernel's author."""
_NOT_THE_KERNEL = ("kagent_bench", "site-packages", sysconfig.get_path("stdlib"), "<frozen")
"""Parts of the names of files that no kernel's author wrote."""
DETAIL_CHARACTERS = 2000
DEVICE_FAULT = "device_fault"
"""Reason of a failure after which the process can do nothing more on its device."""


def preload() -> None:
    """Do once, in the fork server, what every child would do: set Triton's hooks, work out the allow-list."""
    watch_libraries()
    interpreter = os.environ.get("TRITON_INTERPRET") == "1"
    if not interpreter:
        importlib.import_module("kagent_bench.evaluate.candidate.compile_only")
    triton_hooks.install(interpreter=interpreter)
    OBSERVER.host_only = interpreter
    OBSERVER.library_functions = Snapshot(TORCH)
    OBSERVER.language = Snapshot(TRITON) if interpreter else None
    for cuda in {
        False,
        not interpreter,
    }:  # a kernel is compiled for another target without this machine's GPU
        default_policy(Path(tempfile.gettempdir()), cuda=cuda)


def run(request: dict[str, Any], channel_descriptor: int, output_descriptor: int) -> int:
    """Be the candidate; returns the exit status.

    Args:
        request: ``kernel`` (path), ``function``, ``device``, ``scratch``, ``memory_bytes``, ``secrets``,
            ``module`` (what a module's class needs, see ``module_entry``; None for an operator), ``ghost`` (whether launches shall do nothing), ``compile_target`` (what launches are only compiled for;
            empty to run them).
        channel_descriptor: socket to the supervisor.
        output_descriptor: pipe that stdout and stderr go to.
    """
    os.dup2(output_descriptor, 1)
    os.dup2(output_descriptor, 2)
    os.close(output_descriptor)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    policy = replace(
        default_policy(
            Path(request["scratch"]),
            cuda=request["device"] != "cpu",
            secrets=tuple(Path(secret) for secret in request["secrets"]),
        ),
        memory_bytes=request["memory_bytes"],
    )
    report = contain(policy, keep_fds={0, 1, 2, channel_descriptor})
    channel = Channel.from_descriptor(channel_descriptor)
    channel.send({"outcome": "contained", "containment": report.to_json()})
    OBSERVER.author = request["kernel"]
    OBSERVER.ghost = request["ghost"]
    watch = Watch()  # type: ignore[no-untyped-call]
    target = request["compile_target"]
    answer = _compiler(target, request["kernel"]) if target else partial(_judge_call, watch=watch)
    with watch:
        function, failure = _load(
            request["kernel"], request["function"], request["module"], request["device"]
        )
    if function is None:
        channel.send(failure)
        return 0
    channel.send({"outcome": "loaded"})
    _serve(
        channel,
        partial(answer, function),
        request["device"],
        TimedCalls(function, request["device"]),
    )
    return 0


def _compiler(target: str, kernel: str) -> Callable[..., dict[str, Any]]:
    """Return what answers calls in a process where launches are only compiled."""
    from kagent_bench.evaluate.candidate.compile_only import Compiler

    compiler = Compiler(target, kernel)
    compiler.install()
    return lambda function, call, **_: compiler.call(function, call)


def _load(
    path: str, function_name: str, problem: dict[str, Any] | None, device: str
) -> tuple[Callable[..., Any] | None, dict[str, Any]]:
    """Import the kernel file; return its function, or None and what is wrong."""
    spec = importlib.util.spec_from_file_location("candidate_kernel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        return None, _failure("syntax_error", f"line {error.lineno}: {error.msg}")
    except Exception as error:  # noqa: BLE001 - whatever the file raises is its author's to know
        return None, _failure("import_error", _explain(error))
    function = getattr(module, function_name, None)
    if problem is not None:
        try:
            function = find_entry(module, function_name, problem, device)
        except Exception as error:  # noqa: BLE001 - as above
            return None, _failure("import_error", _explain(error))
        function_name = f"{function_name} and no {CLASS}"
    if function is None:
        names = ", ".join(sorted(name for name in vars(module) if not name.startswith("_"))[:10])
        return None, _failure("missing_function", f"the file defines no {function_name}; it defines: {names}")
    if not callable(function):
        return None, _failure("missing_function", f"{function_name} is not callable")
    return function, {}


def _serve(
    channel: Channel,
    answer: Callable[..., dict[str, Any]],
    device: str,
    timed: TimedCalls | None = None,
) -> None:
    memory: mmap.mmap | None = None
    call: Call | None = None
    turn = 0
    while True:
        try:
            request, descriptors = channel.receive()
        except Closed:
            return
        if "time" in request:
            assert call is not None
            assert timed is not None
            channel.send(_time_call(timed, request, descriptors, call))
            continue
        if descriptors:
            memory = mmap.mmap(descriptors[0], request["call"]["arena_bytes"])
            os.close(descriptors[0])
        assert memory is not None
        if "call" in request:
            call = Call(request["call"], memory, device)
        assert call is not None
        turn += 1
        channel.send(answer(call, memory=memory, turn=turn, recording=request.get("recording", False)))


def _judge_call(
    function: Callable[..., Any],
    call: Call,
    *,
    memory: mmap.mmap,
    watch: Watch,
    turn: int,
    recording: bool = False,
) -> dict[str, Any]:
    OBSERVER.reset(turn)
    recorded: list[str] = []
    try:
        call.to_device()
        args, kwargs = call.arguments()
        with (
            torch.no_grad(),
            watch,
            OBSERVER.kernel_call([item.untyped for item in call.storages]),
            record_operators() if recording else nullcontext(recorded) as recorded,
        ):
            value = function(*args, **kwargs)
            OBSERVER.returned(value)
        reply = describe(value, call, memory)
        call.from_device()
    except TooLarge as error:
        return {
            **_failure("too_much_output", f"returned {error}, more than twice what is expected"),
            **OBSERVER.seen(),
        }
    except Exception as error:  # noqa: BLE001 - whatever the kernel raises is its author's to know
        if _device_is_lost():
            reason = DEVICE_FAULT
        else:
            reason = "signature" if _does_not_fit(function, call) else "raised"
        return {**_failure(reason, _explain(error)), **OBSERVER.seen()}
    return {"outcome": "returned", **reply, **OBSERVER.seen(), "recorded": recorded}


def _time_call(
    timed: TimedCalls, request: dict[str, Any], descriptors: tuple[int, ...], call: Call
) -> dict[str, Any]:
    try:
        return timed.answer(request, descriptors, call)
    except WrongShape as error:
        return _failure("timed_output_wrong", str(error))
    except Exception as error:  # noqa: BLE001 - whatever the kernel raises is its author's to know
        return _failure(
            DEVICE_FAULT if _device_is_lost() else "raised", f"in a timed call: {_explain(error)}"
        )


def _device_is_lost() -> bool:
    """Return whether an error on the device, such as an illegal access, ended this process's use of it."""
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return False
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


def _does_not_fit(function: Callable[..., Any], call: Call) -> bool:
    try:
        args, kwargs = call.arguments()
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return True
    except ValueError:
        return False
    return False


def _failure(reason: str, detail: str) -> dict[str, Any]:
    return {"outcome": "failed", "reason": reason, "detail": detail[:DETAIL_CHARACTERS]}


def _explain(error: Exception) -> str:
    """Return an exception, and those that led to it, with the lines of the kernel's own file only.

    What stays out is the same for every kernel, and paths that differ from one process to the next.
    """
    lines = [f"{type(error).__name__}: {error}"]
    pending: BaseException | None = error
    while pending is not None and len(lines) <= TRACE_LINES:
        frames = [item for item in traceback.extract_tb(pending.__traceback__) if _is_own(item.filename)]
        lines += [f"  line {item.lineno}, in {item.name}: {item.line}" for item in frames[-TRACE_LINES:]]
        pending = pending.__cause__ or (None if pending.__suppress_context__ else pending.__context__)
        if pending is not None:
            lines.append(f"  because of {type(pending).__name__}: {pending}")
    return "\n".join(lines[: TRACE_LINES + 1])


def _is_own(filename: str) -> bool:
    return not any(part in filename for part in _NOT_THE_KERNEL)
