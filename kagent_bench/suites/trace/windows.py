"""Fewer windows: what slides over an image, and its backward, take as many steps less over a smaller one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kagent_bench.suites.trace.call import Arguments, TracedTensor

if TYPE_CHECKING:
    from kagent_bench.suites.aten import Schema
    from kagent_bench.suites.trace.call import TracedCall, TracedValue

KEPT = 4
"""Windows, and elements of the image, that are kept of each dimension at least."""
IMAGES = ("input", "self")
"""Names of the argument that windows slide over."""
RESULTS = frozenset(["grad_output", "indices"])
"""Names of arguments that have a place for each window."""


def fewer_windows(call: TracedCall, schema: Schema) -> TracedCall | None:
    """Return a backward call over a smaller image: each window less is a step less in it.

    Sizes of windows, channels and padding stay as they are. None where the operator has no windows, or no fewer.
    """
    names = [argument.name for argument in schema.arguments if not argument.kwarg_only]
    named = dict(zip(names, call.arguments.args, strict=False)) | dict(call.arguments.kwargs)
    image = next((named[name] for name in IMAGES if name in named), None)
    result = named.get("grad_output")
    if not isinstance(image, TracedTensor) or not isinstance(result, TracedTensor):
        return None
    steps = _steps(named)
    if not steps or len(steps) > min(len(image.shape), len(result.shape)):
        return None
    slid, made = (result, image) if named.get("transposed") is True else (image, result)
    sizes = zip(made.shape[-len(steps) :], slid.shape[-len(steps) :], steps, strict=True)
    dropped = [max(min(n - KEPT, (size - KEPT) // step), 0) for n, size, step in sizes]
    if not any(dropped):
        return None
    smaller = {
        made.shape: _less(made.shape, dropped),
        slid.shape: _less(slid.shape, [step * n for step, n in zip(steps, dropped, strict=True)]),
    }

    def value(name: str, item: TracedValue) -> TracedValue:
        if isinstance(item, TracedTensor) and (name in RESULTS or name in IMAGES):
            return item.resized(smaller.get(item.shape, item.shape))
        return item

    arguments = Arguments(
        tuple(value(name, item) for name, item in zip(names, call.arguments.args, strict=False)),
        tuple((name, value(name, item)) for name, item in call.arguments.kwargs),
    )
    return replace(call, arguments=arguments)


def _steps(named: dict[str, TracedValue]) -> tuple[int, ...]:
    """Return how far apart windows are along each dimension: by default as far as they are wide; padding has no step."""
    for name in ("stride", "kernel_size"):
        value = named.get(name)
        if isinstance(value, tuple) and value:
            return tuple(step for step in value if isinstance(step, int) and step > 0)
    padding = named.get("padding")
    return (1,) * (len(padding) // 2) if isinstance(padding, tuple) and "stride" not in named else ()


def _less(shape: tuple[int, ...], dropped: list[int]) -> tuple[int, ...]:
    start = len(shape) - len(dropped)
    return (*shape[:start], *(size - less for size, less in zip(shape[start:], dropped, strict=True)))
