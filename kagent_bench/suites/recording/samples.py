"""Runs OpInfo's samples so that a recorder sees the calls of each origin."""

from __future__ import annotations

import warnings
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kagent_bench.suites.recording.capture import CallRecorder

SEED = 0
"""Seed of each OpInfo's samples, so that a shard does not depend on which others were recorded."""

MAX_SAMPLES = 60
"""Samples of one OpInfo that all run forward."""

MAX_BACKWARD = 16
"""Samples of one OpInfo that all run backward, which takes three times as long."""

MAX_REFERENCE = 100
"""Reference inputs of one OpInfo that all run."""

STOP_FACTOR = 9
"""Times these numbers, after which no more samples are made; a few dozen OpInfos have more, up to thousands."""

EVERY_FURTHER_SAMPLE = 12
"""Of the samples after these, one in so many: long lists are products of a few settings, and slow."""


def run_samples(
    opinfos: Iterable[Any],
    dtype: torch.dtype,
    recorder: CallRecorder,
    said: Callable[[str], None],
) -> None:
    """Run every sample of every OpInfo that supports a dtype.

    Args:
        opinfos: entries of torch's ``op_db``.
        dtype: dtype of the samples.
        recorder: records what is dispatched.
        said: told which OpInfos could not make samples.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for opinfo in opinfos:
            if dtype in opinfo.supported_dtypes("cpu"):
                _run_opinfo(opinfo, dtype, recorder, said)


def _run_opinfo(
    opinfo: Any,
    dtype: torch.dtype,
    recorder: CallRecorder,
    said: Callable[[str], None],
) -> None:
    for sample in _some(_samples(opinfo, "sample_inputs", dtype, said), MAX_SAMPLES):
        _record(recorder, opinfo.op, sample, "direct")
        if opinfo.inplace_variant is not None:
            _record(recorder, opinfo.inplace_variant, sample.transform(_copied), "inplace")
    if opinfo.supports_autograd and dtype in opinfo.supported_backward_dtypes("cpu"):
        # Made anew: some samples exist only with, others only without gradients.
        for sample in _some(_samples(opinfo, "sample_inputs", dtype, said, requires_grad=True), MAX_BACKWARD):
            _record_backward(recorder, opinfo, sample)
    if opinfo.reference_inputs_func is not None:
        for sample in _some(_samples(opinfo, "reference_inputs", dtype, said), MAX_REFERENCE):
            _record(recorder, opinfo.op, sample, "reference")


def _some(samples: Iterator[Any], n_first: int) -> Iterator[Any]:
    """Yield the first samples, then a share of the further ones, up to a limit."""
    for index, sample in enumerate(islice(samples, n_first * STOP_FACTOR)):
        if index < n_first or not index % EVERY_FURTHER_SAMPLE:
            yield sample


def _samples(
    opinfo: Any,
    method: str,
    dtype: torch.dtype,
    said: Callable[[str], None],
    *,
    requires_grad: bool = False,
) -> Iterator[Any]:
    """Yield samples until there are no more or the OpInfo's own code fails."""
    torch.manual_seed(SEED)
    made = iter(())
    try:
        made = iter(getattr(opinfo, method)("cpu", dtype, requires_grad=requires_grad))
        yield from made
    except Exception as error:  # noqa: BLE001 - torch's sample makers may raise anything
        said(f"{opinfo.name}: {method} stopped with {type(error).__name__}: {error}")


def _record(recorder: CallRecorder, run: Any, sample: Any, origin: str) -> None:
    recorder.origin = origin
    try:
        with recorder:
            run(sample.input, *sample.args, **sample.kwargs)
    except Exception:  # noqa: BLE001 - some samples are meant for another mode and raise; they are no cases
        recorder.discard()
    else:
        recorder.commit()


def _record_backward(recorder: CallRecorder, opinfo: Any, sample: Any) -> None:
    recorder.origin = "backward"
    try:
        output = opinfo.op(sample.input, *sample.args, **sample.kwargs)
        if sample.output_process_fn_grad is not None:
            output = sample.output_process_fn_grad(output)
        outputs = _differentiable(output)
        inputs = _differentiable((sample.input, sample.args, sample.kwargs))
        if not outputs or not inputs:
            return
        gradients = [torch.randn_like(item) for item in outputs]
        with recorder:
            torch.autograd.grad(outputs, inputs, gradients, allow_unused=True)
    except Exception:  # noqa: BLE001 - as above
        recorder.discard()
    else:
        recorder.commit()


def _differentiable(tree: Any) -> list[torch.Tensor]:
    return [item for item in tree_leaves(tree) if isinstance(item, torch.Tensor) and item.requires_grad]


def _copied(item: Any) -> Any:
    """Copy a tensor with its strides, so that an in-place call spares the sample."""
    return item.clone() if isinstance(item, torch.Tensor) else item
