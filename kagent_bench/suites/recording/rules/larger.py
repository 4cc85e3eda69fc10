"""Rules for operators whose arguments must fit each other: calls whose results are longer than a block, by name.

Growing one size of a sample leaves windows, places and saved results behind. So these calls are written out: one side
of a plane, then the other, longer than a block; numbers that differ for each dimension; dimensions from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from kagent_bench.model.case import IntegerValues, LiteralValues, TensorSpec, Value
from kagent_bench.suites.recording.literals import encode_integers
from kagent_bench.suites.recording.template import New

if TYPE_CHECKING:
    from kagent_bench.suites.recording.template import Shape, Slot, Template

Call: TypeAlias = "Mapping[str, New | Value]"
"""Arguments by name: tensors, and other values. What a sample leaves out stays out."""

LONG, SIDE = 131, 3
"""A side longer than a block of 128, and one shorter than any."""

LONG_OF_CUBE = 41
"""The long side where there are three, longer than a block of 32: a window in each place takes the interpreter long."""


def _new(*shape: int) -> New:
    return New(shape=shape)


def _places(below: int, *shape: int) -> New:
    return New(shape=shape, rule=IntegerValues(low=0, high=below - 1))


def _sides(rank: int) -> list[Shape]:
    """Return planes of so many dimensions, with each in turn the long one."""
    short = tuple(SIDE + 2 * axis for axis in range(rank))
    longest = LONG if rank <= 2 else LONG_OF_CUBE  # noqa: PLR2004 - planes, as the constants say
    return [(*short[:axis], longest, *short[axis + 1 :]) for axis in range(rank)]


def _resampled(rank: int, *, backward: bool = False) -> list[Call]:
    """Return calls that stretch and shrink planes, without scales of their own."""
    whole = dict.fromkeys(("scales", "scales_d", "scales_h", "scales_w"))
    found: list[Call] = []
    for side in _sides(rank):
        small = tuple(5 + axis for axis in range(rank))
        for given, size in ((small, side), (side, small)):
            if backward:
                sizes: dict[str, Value] = {"output_size": size, "input_size": (1, 2, *given)}
                found.append({"grad_output": _new(1, 2, *size), **sizes, **whole})
            else:
                found.append({"self": _new(1, 2, *given), "output_size": size, **whole})
    return found


def _adaptive(rank: int) -> list[Call]:
    return [{"self": _new(1, 2, *(2 * n + 1 for n in side)), "output_size": side} for side in _sides(rank)]


def _windows(rank: int) -> Iterator[tuple[Shape, dict[str, Value]]]:
    """Yield planes, with windows that are another in each dimension."""
    steps = tuple(range(1, rank + 1))
    for side in _sides(rank):
        plane = tuple(2 * n + 1 for n in side)
        yield plane, {"kernel_size": steps[::-1], "stride": steps, "padding": (0,) * rank}
        yield (
            plane,
            {"kernel_size": tuple(n + 1 for n in steps), "stride": steps[::-1], "padding": (0, 1, 1)[:rank]},
        )


def _max_pool(rank: int, *, backward: bool = False) -> list[Call]:
    """Return calls with dilations; the places in a backward call are those that the operator itself found."""
    found: list[Call] = []
    for plane, window in _windows(rank):
        given = {**window, "dilation": (2, 1, 1)[:rank], "ceil_mode": False}
        if not backward:
            found.append({"self": _new(1, 2, *plane), **given})
            continue
        pool = getattr(torch.ops.aten, f"max_pool{rank}d_with_indices")
        found.append(_backward_of(pool, plane, given))
    return found


def _adaptive_max_pool_backward(rank: int) -> list[Call]:
    pool = getattr(torch.ops.aten, f"adaptive_max_pool{rank}d")
    planes = [(tuple(2 * n + 1 for n in side), side) for side in _sides(rank)]
    return [
        {
            name: value
            for name, value in _backward_of(pool, plane, {"output_size": side}).items()
            if name != "output_size"
        }
        for plane, side in planes
    ]


def _backward_of(pool: Any, plane: Shape, given: dict[str, Any]) -> Call:
    source = torch.rand((1, 2, *plane), generator=torch.Generator().manual_seed(len(plane)))
    pooled, indices = pool(source, *given.values())
    rule = LiteralValues(data=encode_integers(indices.flatten().tolist(), "int64"))
    return {
        "grad_output": _new(*pooled.shape),
        "self": _new(1, 2, *plane),
        **given,
        "indices": New(shape=tuple(indices.shape), rule=rule),
    }


def _avg_pool_backward(rank: int) -> list[Call]:
    found: list[Call] = []
    pool = getattr(torch.ops.aten, f"avg_pool{rank}d")
    for number, (plane, window) in enumerate(_windows(rank)):
        shape = pool(torch.empty(1, 2, *plane), *window.values()).shape
        flags = {"ceil_mode": False, "count_include_pad": number % 4 < 2, "divisor_override": None}  # noqa: PLR2004
        found.append({"grad_output": _new(*shape), "self": _new(1, 2, *plane), **window, **flags})
    return found


def _padded(kind: str, rank: int) -> list[Call]:
    pad = getattr(torch.ops.aten, f"{kind}_pad{rank}d")
    padding = tuple(1 + axis % 3 for axis in range(2 * rank))
    return [
        {
            "grad_output": _new(*pad(torch.empty(1, 2, *side), padding).shape),
            "self": _new(1, 2, *side),
            "padding": padding,
        }
        for side in (tuple(n + 2 for n in side) for side in _sides(rank))
    ]


def _columns() -> list[Call]:
    found: list[Call] = []
    for size in ((SIDE + 2, LONG), (LONG, SIDE + 2), (11, 13)):
        window = {"kernel_size": (3, 2), "dilation": (1, 2), "padding": (1, 0), "stride": (2, 1)}
        columns = torch.ops.aten.im2col(torch.empty(1, 2, *size), *window.values())
        found.append({"self": _new(*columns.shape), "output_size": size, **window})
    return found


def _sampled(rank: int, *, backward: bool = False) -> list[Call]:
    planes = [
        (_new(1, 2, *side), _new(1, 2, *range(4, 4 + rank)), _new(1, *side, rank)) for side in _sides(rank)
    ]
    return [
        {**({"grad_output": gradient} if backward else {}), "input": source, "grid": grid}
        for gradient, source, grid in planes
    ]


def _with_classes(name: str, *, backward: bool) -> list[Call]:
    """Return losses over classes, of planes or of rows, reduced and not."""
    found: list[Call] = []
    for places in ((2, 5, LONG), (2, LONG, 5)) if "2d" in name else ((8 * LONG,), (LONG,)):
        shape = (places[0], 5, *places[1:])
        for reduction in (0, 1, 2):
            call: dict[str, New | Value] = {
                "self": _new(*shape),
                "target": _places(5, *places),
                "weight": _new(5),
                "reduction": reduction,
            }
            if backward:
                call["grad_output"] = _new(*(() if reduction else places))
            found.append(call)
    return found


def _group_norm_backward() -> list[Call]:
    found: list[Call] = []
    for n, channels, inner, groups in ((2, 6, LONG, 3), (3, 4, 1, 2), (1, 70, 9, 35), (17, 2, 7, 1)):
        plane = _new(n, channels, inner)
        saved = _new(n, groups)
        sizes = {"N": n, "C": channels, "HxW": inner, "group": groups}
        found.append(
            {
                "grad_out": plane,
                "input": plane,
                "mean": saved,
                "rstd": saved,
                "weight": _new(channels),
                **sizes,
            }
        )
    return found


def _convolution_backward() -> list[Call]:
    window: dict[str, Value] = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}
    found: list[Call] = []
    for plane, groups in (((5, 37), 1), ((37, 5), 2)):
        given, weight = torch.empty(2, 4, *plane), torch.empty(6, 4 // groups, 3, 2)
        result = torch.nn.functional.conv2d(given, weight, None, **window, groups=groups)  # type: ignore[arg-type]
        found.append(
            {
                "grad_output": _new(*result.shape),
                "input": _new(*given.shape),
                "weight": _new(*weight.shape),
                "bias_sizes": (6,),
                **window,
                "transposed": False,
                "output_padding": (0, 0),
                "groups": groups,
            }
        )
    return found


def _slices() -> dict[str, list[Call]]:
    rows = _new(41, 37)
    diagonal = {"offset": 1, "dim1": -3, "dim2": -1}
    return {
        "diagonal_backward": [{"grad_output": _new(LONG, 10), "input_sizes": (12, LONG, 11), **diagonal}],
        "diagonal_copy": [
            {"self": _new(12, LONG, 11), **diagonal},
            {"self": _new(8, 9, LONG), "offset": -1, "dim1": -2, "dim2": -3},
        ],
        "diagonal_scatter": [{"self": _new(12, LONG, 11), "src": _new(LONG, 10), **diagonal}],
        "select_backward": [
            {"grad_output": rows, "input_sizes": (41, 3, 37), "dim": -2, "index": -1},
            {"grad_output": rows, "input_sizes": (3, 41, 37), "dim": -3, "index": 1},
        ],
        "select_scatter": [
            {"self": _new(41, 3, 37), "src": rows, "dim": -2, "index": -1},
            {"self": _new(3, 41, 37), "src": rows, "dim": -3, "index": 1},
        ],
        "slice_backward": [
            {
                "grad_output": _new(41, 2, 37),
                "input_sizes": (41, 7, 37),
                "dim": -2,
                "start": 1,
                "end": 6,
                "step": 3,
            }
        ],
        "slice_scatter": [
            {"self": _new(41, 7, 37), "src": _new(41, 2, 37), "dim": -2, "start": 1, "end": 6, "step": 3},
            {"self": _new(7, LONG), "src": _new(3, LONG), "dim": -2, "start": -5, "end": -2, "step": 1},
        ],
    }


def _sequences(name: str) -> list[Call]:
    """Return values without tensors: lengths and sides beyond a block."""
    length: dict[str, Value] = {"end": 1031, "steps": 1031, "n": 67, "m": 71}
    more: dict[str, Value] = {"start": -3, "step": 1}
    if name in {"linspace", "logspace"}:
        return [{"start": -2, "end": 3.5, "steps": 1031}]
    if name == "arange":
        return [{**more, **length}, {"start": 5.5, "end": -300, "step": -0.25}]
    return [length] if name == "eye" else [{"size": (3, 41, 11)}]


CALLS: dict[str, Callable[[], list[Call]]] = {
    **{
        f"{kind}{rank}d": partial(_resampled, rank)
        for kind in ("upsample_nearest", "_upsample_nearest_exact")
        for rank in (1, 2, 3)
    },
    **{
        f"{kind}{rank}d_backward": partial(_resampled, rank, backward=True)
        for kind in ("upsample_nearest", "_upsample_nearest_exact")
        for rank in (1, 2, 3)
    },
    **{
        f"upsample_{kind}": partial(_resampled, rank)
        for kind, rank in (("linear1d", 1), ("bilinear2d", 2), ("bicubic2d", 2), ("trilinear3d", 3))
    },
    **{
        f"upsample_{kind}_backward": partial(_resampled, rank, backward=True)
        for kind, rank in (("linear1d", 1), ("bilinear2d", 2), ("bicubic2d", 2), ("trilinear3d", 3))
    },
    "_adaptive_avg_pool2d": partial(_adaptive, 2),
    "_adaptive_avg_pool3d": partial(_adaptive, 3),
    "adaptive_max_pool2d": partial(_adaptive, 2),
    "adaptive_max_pool3d": partial(_adaptive, 3),
    "adaptive_max_pool2d_backward": partial(_adaptive_max_pool_backward, 2),
    "adaptive_max_pool3d_backward": partial(_adaptive_max_pool_backward, 3),
    **{f"max_pool{rank}d_with_indices": partial(_max_pool, rank) for rank in (2, 3)},
    **{f"max_pool{rank}d_with_indices_backward": partial(_max_pool, rank, backward=True) for rank in (2, 3)},
    **{f"avg_pool{rank}d_backward": partial(_avg_pool_backward, rank) for rank in (2, 3)},
    **{
        f"{kind}_pad{rank}d_backward": partial(_padded, kind, rank)
        for kind in ("reflection", "replication")
        for rank in (1, 2, 3)
    },
    "col2im": _columns,
    **{f"grid_sampler_{rank}d": partial(_sampled, rank) for rank in (2, 3)},
    **{f"grid_sampler_{rank}d_backward": partial(_sampled, rank, backward=True) for rank in (2, 3)},
    **{
        name: partial(_with_classes, name, backward=False)
        for name in ("nll_loss_forward", "nll_loss2d_forward")
    },
    **{
        name: partial(_with_classes, name, backward=True)
        for name in ("nll_loss_backward", "nll_loss2d_backward")
    },
    "native_group_norm_backward": _group_norm_backward,
    "convolution_backward": _convolution_backward,
    "smooth_l1_loss": lambda: [{"self": _new(SIDE, 401), "target": _new(SIDE, 401)}],
    "binary_cross_entropy_with_logits": lambda: [
        {"self": _new(SIDE, 401), "target": _new(SIDE, 401), "weight": _new(401), "pos_weight": _new(401)}
    ],
    **{name: partial(_slices().__getitem__, name) for name in _slices()},
}
"""Calls by operator name, made when they are asked for."""

WITHOUT_TENSORS = frozenset({"arange", "eye", "full", "linspace", "logspace", "ones", "zeros"})
"""Operators that are only given numbers."""


def larger(template: Template, *, base: str) -> Iterator[Template]:
    """The calls of an operator, as far as a sample gives the same arguments."""
    for call in CALLS[base]():
        changed = _called(template, call)
        if changed is not None:
            yield changed


def longer(template: Template, *, base: str) -> Iterator[Template]:
    """Calls without tensors."""
    for call in _sequences(base):
        changed = _called(template, call)
        if changed is not None:
            yield changed


def _called(template: Template, call: Call) -> Template | None:
    """Return a sample with other arguments, None where it lacks a tensor that decides about the others."""
    tensors: dict[Slot, New] = {}
    changed = template
    for name, what in call.items():
        slot = template.slot(name)
        if not isinstance(what, New):
            given = slot is not None and not isinstance(template.get(slot), TensorSpec)
            if given or (slot is None and name in dict(template.defaults)):
                changed = changed.with_value(name, what)
        elif slot is not None and isinstance(template.get(slot), TensorSpec):
            tensors[slot] = what
    if {slot for slot, _ in template.tensors} - set(tensors) - _free(template):
        return None
    return changed.with_tensors(tensors)


def _free(template: Template) -> set[Slot]:
    """Return the tensors without dimensions, which fit any call."""
    return {slot for slot, view in template.tensors if not prod(view.shape) > 1}
