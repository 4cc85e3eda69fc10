"""Records a target: on tensors without memory where that can be, for real where not."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.module_tracker import ModuleTracker

from kagent_bench.errors import KabError, UsageError
from kagent_bench.suites.retype import DTYPES
from kagent_bench.suites.trace.call import Trace
from kagent_bench.suites.tracing.modules import innermost, replace_tensors
from kagent_bench.suites.tracing.recorder import CallRecorder
from kagent_bench.suites.tracing.targets import Form, Target, Workload, find_target
from kagent_bench.version import installed_version

if TYPE_CHECKING:
    from collections.abc import Callable

EXECUTIONS = ("auto", "fake", "real")
"""``fake`` needs neither memory nor weights; ``auto`` goes on for real where a model needs values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """How a target is traced."""

    target: str
    arguments: tuple[str, ...] = ()
    """For a script."""
    name: str = ""
    training: bool = False
    execution: str = "auto"
    as_dtype: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What came of it."""

    trace: Trace
    n_calls: int
    left_out: dict[str, int]
    """Calls that are not in the trace, by reason."""
    execution: str
    """``fake`` or ``real``."""


def record(options: TraceOptions, note: Callable[[str], None]) -> Recording:
    """Run a target and return the trace of its operator calls.

    Raises:
        UsageError: the options cannot be used, or the target raised.
    """
    target = find_target(options.target)
    _refuse(options, target)
    ways = ("fake", "real") if options.execution == "auto" else (options.execution,)
    if target.form is Form.SCRIPT:
        ways = ("real",)  # what a script does besides, it shall do once
    for way in ways:
        try:
            return _record(options, target, way)
        except KabError:
            raise
        except Exception as error:
            last = (str(error).splitlines() or [""])[0]
            told = f"{options.target} raised {type(error).__name__} on {way} tensors: {last}"
            if way == ways[-1]:
                raise UsageError(
                    told, hint="run it without kab first; --execution real gives it real tensors"
                ) from error
            note(f"{told}; tracing it for real")
    message = "no way to run the target"
    raise AssertionError(message)


def record_workload(workload: Workload, name: str, *, training: bool) -> CallRecorder:
    """Call a model once and return what was recorded; the current mode decides whether the tensors are real."""
    with ModuleTracker() as tracker:
        recorder = CallRecorder(name, lambda: innermost(tracker.parents))
        model = workload.model
        if isinstance(model, torch.nn.Module):
            model.train(training)
        with nullcontext() if training else torch.no_grad(), recorder:
            returned = model(*workload.args, **(workload.kwargs or {}))
            if training:
                _backward(returned, recorder)
    return recorder


def _record(options: TraceOptions, target: Target, way: str) -> Recording:
    phase = "training" if options.training else "inference"
    name = options.name or (target.name if target.form is Form.SCRIPT else f"{target.name}/{phase}")
    with _tensors(way):
        if target.form is Form.SCRIPT:
            recorder = _watched(name, lambda: target.run_script(options.arguments))
        else:
            prepared: list[Workload | None] = []
            recorder = _watched(name, lambda: prepared.append(target.prepare()))
            if prepared[0] is not None:
                workload = _changed(prepared[0], options.as_dtype)
                recorder = record_workload(workload, name, training=options.training)
    calls = recorder.calls()
    if not calls:
        message = f"{options.target} called no operator"
        raise UsageError(message, hint="a function must run the model, or return (model, arguments)")
    header = (
        ("recorder", f"kab {installed_version() or 'unknown'}, torch {torch.__version__}"),
        ("model", name),
        ("execution", way),
    )
    return Recording(
        trace=Trace(calls=calls, header=header),
        n_calls=sum(call.count for call in calls),
        left_out=dict(recorder.left_out.most_common()),
        execution=way,
    )


def _watched(name: str, work: Callable[[], object]) -> CallRecorder:
    with ModuleTracker() as tracker:
        recorder = CallRecorder(name, lambda: innermost(tracker.parents))
        with recorder:
            work()
    return recorder


@contextmanager
def _tensors(way: str) -> Iterator[None]:
    if way != "fake":
        yield
        return
    # What an operator raises is ours to tell; torch would print its traceback as well.
    log = logging.getLogger(FakeTensorMode.__module__)
    before, log.disabled = log.disabled, True
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            yield
    finally:
        log.disabled = before


def _backward(returned: Any, recorder: CallRecorder) -> None:
    loss = getattr(returned, "loss", None)
    outputs = [loss] if isinstance(loss, torch.Tensor) else tree_leaves(returned)
    outputs = [item for item in outputs if isinstance(item, torch.Tensor) and item.requires_grad]
    if not outputs:
        message = "the model returned nothing that can be differentiated"
        raise UsageError(message, hint="trace it without --training")
    with recorder.paused():
        gradients = [torch.ones_like(item) for item in outputs]
    torch.autograd.backward(outputs, gradients)


def _changed(workload: Workload, name: str) -> Workload:
    """Return the workload in another floating-point dtype."""
    if not name:
        return workload
    dtype: torch.dtype = getattr(torch, DTYPES[name])

    def change(value: Any) -> Any:
        is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(dtype) if is_float else value

    if isinstance(workload.model, torch.nn.Module):
        replace_tensors(workload.model, change)
    args, kwargs = tree_map(change, workload.args), tree_map(change, workload.kwargs)
    return Workload(model=workload.model, args=args, kwargs=kwargs)


def _refuse(options: TraceOptions, target: Target) -> None:
    if options.execution not in EXECUTIONS:
        message = f"no execution called '{options.execution}' (asked for by --execution)"
        raise UsageError(message, hint=f"known: {', '.join(EXECUTIONS)}")
    if options.as_dtype and options.as_dtype not in DTYPES:
        message = f"no dtype called '{options.as_dtype}' (asked for by --as-dtype)"
        raise UsageError(message, hint=f"known: {', '.join(DTYPES)}")
    if target.form is Form.SCRIPT and (options.training or options.as_dtype or options.execution == "fake"):
        message = f"{options.target} is a script: it is run as it is, in its own dtype and on its own tensors"
        raise UsageError(message, hint="leave out --training, --as-dtype and --execution fake")
    if target.form is not Form.SCRIPT and options.arguments:
        message = f"{options.target} takes no arguments"
        raise UsageError(message, hint="only scripts do")
