"""Pooling as a reduction over windows: a strided view of the (padded) input, then its maximum or mean."""

from __future__ import annotations

from typing import Any

import torch

aten = torch.ops.aten


def _sizes(value: Any, rank: int) -> list[int]:
    items = list(value) if isinstance(value, list | tuple) else [value]
    return items * rank if len(items) == 1 else items


def _windows(
    source: torch.Tensor,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    fill: float,
) -> torch.Tensor:
    """Return a view with the windows as last dimensions, whatever the input's strides are when it runs."""
    if any(padding):
        pads = [size for pad in reversed(padding) for size in (pad, pad)]
        source = aten.constant_pad_nd(source, pads, fill)
    lead = source.dim() - len(kernel)
    for place, (size, step, gap) in enumerate(zip(kernel, stride, dilation, strict=True)):
        source = source.unfold(lead + place, gap * (size - 1) + 1, step)[..., ::gap]
    return source


def _max_pool(rank: int) -> Any:
    def pool(
        source: torch.Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,  # noqa: FBT001, FBT002 - as in the schema
    ) -> Any:
        kernel = _sizes(kernel_size, rank)
        if ceil_mode:
            return NotImplemented
        windows = _windows(
            source,
            kernel,
            _sizes(stride, rank) if stride else kernel,
            _sizes(padding, rank),
            _sizes(dilation, rank),
            float("-inf"),
        )
        return windows.amax(tuple(range(-rank, 0)))

    return pool


def _max_pool_with_indices(rank: int) -> Any:
    plain = _max_pool(rank)

    def pool(
        source: torch.Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,  # noqa: FBT001, FBT002 - as in the schema
    ) -> Any:
        values = plain(source, kernel_size, stride, padding, dilation, ceil_mode)
        if values is NotImplemented:
            return NotImplemented
        kernel, pads, gaps = (_sizes(item, rank) for item in (kernel_size, padding, dilation))
        steps = _sizes(stride, rank) if stride else kernel
        rest = _windows(source, kernel, steps, pads, gaps, float("-inf")).flatten(-rank).argmax(-1)
        # The place in the window is that in the input's plane; where nobody uses it, it is not computed.
        index = torch.zeros_like(rest)
        scale = 1
        for dim in reversed(range(rank)):
            size, out = source.shape[dim - rank], values.shape[dim - rank]
            view = [out if place == dim else 1 for place in range(rank)]
            start = (torch.arange(out, device=source.device) * steps[dim] - pads[dim]).view(view)
            index = index + (start + rest % kernel[dim] * gaps[dim]) * scale
            rest = rest // kernel[dim]
            scale *= size
        return values, index

    return pool


def _avg_pool(rank: int) -> Any:
    def pool(
        source: torch.Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,  # noqa: FBT001, FBT002 - as in the schema
        count_include_pad: bool = True,  # noqa: FBT001, FBT002
        divisor_override: Any = None,
    ) -> Any:
        kernel, pads = _sizes(kernel_size, rank), _sizes(padding, rank)
        if ceil_mode or divisor_override is not None or (any(pads) and not count_include_pad):
            return NotImplemented
        step = _sizes(stride, rank) if stride else kernel
        windows = _windows(source, kernel, step, pads, [1] * rank, 0.0)
        return windows.mean(tuple(range(-rank, 0)))

    return pool


def _adaptive(rank: int) -> Any:
    def pool(source: torch.Tensor, output_size: Any) -> Any:
        wanted = _sizes(output_size, rank)
        inside = list(source.shape[-rank:])
        if any(size % out for size, out in zip(inside, wanted, strict=True)):
            return NotImplemented
        if all(out == 1 for out in wanted):
            return source.mean(tuple(range(-rank, 0)), keepdim=True)
        kernel = [size // out for size, out in zip(inside, wanted, strict=True)]
        return _windows(source, kernel, kernel, [0] * rank, [1] * rank, 0.0).mean(tuple(range(-rank, 0)))

    return pool


WINDOWS: dict[Any, Any] = {
    aten.max_pool2d.default: _max_pool(2),
    aten.max_pool3d.default: _max_pool(3),
    aten.max_pool1d.default: _max_pool(1),
    aten.avg_pool1d.default: _avg_pool(1),
    aten.avg_pool2d.default: _avg_pool(2),
    aten.avg_pool3d.default: _avg_pool(3),
    aten._adaptive_avg_pool2d.default: _adaptive(2),  # noqa: SLF001 - the name that PyTorch dispatches
    aten._adaptive_avg_pool3d.default: _adaptive(3),  # noqa: SLF001
    aten.adaptive_avg_pool1d.default: _adaptive(1),
}
"""Decompositions by operator; ``NotImplemented`` leaves the call as it is."""
for _rank in (2, 3):
    _operator = getattr(aten, f"max_pool{_rank}d_with_indices").default
    WINDOWS[_operator] = _max_pool_with_indices(_rank)
