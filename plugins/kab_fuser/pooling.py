"""Pooling as a reduction over windows: a strided view of the (padded) input, then its maximum or mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

aten = torch.ops.aten


def _sizes(value: Any, rank: int) -> list[int]:
    items = list(value) if isinstance(value, list | tuple) else [value]
    return items * rank if len(items) == 1 else items


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pool:
    """The windows of a pooling call, a number for each dimension."""

    kernel: list[int]
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    ceil: bool

    @classmethod
    def read(
        cls,
        rank: int,
        kernel: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        *,
        ceil: bool = False,
    ) -> _Pool:
        """Take the arguments as the schema has them."""
        sizes = _sizes(kernel, rank)
        return cls(
            kernel=sizes,
            stride=_sizes(stride, rank) if stride else sizes,
            padding=_sizes(padding, rank),
            dilation=_sizes(dilation, rank),
            ceil=ceil,
        )

    def windows(self, source: torch.Tensor, border: float, beyond: float | None = None) -> torch.Tensor:
        """Return a view with the windows as last dimensions, whatever the input's strides are when it runs.

        Args:
            source: the input.
            border: the value of its padding.
            beyond: that of what the last windows take beyond it, where the number of windows is rounded up.
        """
        if any(self.padding):
            source = _bordered(source, [(size, size) for size in self.padding], border)
        rest = self._rest(source.shape[-len(self.kernel) :])
        if any(rest):
            source = _bordered(source, [(0, size) for size in rest], border if beyond is None else beyond)
        lead = source.dim() - len(self.kernel)
        for place, (size, step, gap) in enumerate(zip(self.kernel, self.stride, self.dilation, strict=True)):
            source = source.unfold(lead + place, gap * (size - 1) + 1, step)[..., ::gap]
        return source

    def _rest(self, padded: Sequence[int]) -> list[int]:
        """Return how many elements the last windows take beyond the padded input."""
        found = []
        for size, kernel, step, pad, gap in zip(
            padded, self.kernel, self.stride, self.padding, self.dilation, strict=True
        ):
            span = gap * (kernel - 1) + 1
            last = -(-(size - span) // step) * step if self.ceil else 0
            if last >= size - pad:  # a window must begin inside the input or its left padding
                last -= step
            found.append(max(last + span - size, 0))
        return found


def _bordered(source: torch.Tensor, widths: list[tuple[int, int]], value: float) -> torch.Tensor:
    pads = [size for pair in reversed(widths) for size in pair]
    return aten.constant_pad_nd(source, pads, value)  # type: ignore[no-any-return]


def _max_pool(rank: int) -> Any:
    def pool(
        source: torch.Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,  # noqa: FBT001, FBT002 - as in the schema
    ) -> Any:
        found = _Pool.read(rank, kernel_size, stride, padding, dilation, ceil=ceil_mode)
        return found.windows(source, float("-inf")).amax(tuple(range(-rank, 0)))

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
        found = _Pool.read(rank, kernel_size, stride, padding, dilation, ceil=ceil_mode)
        rest = found.windows(source, float("-inf")).flatten(-rank).argmax(-1)
        # The place in the window is that in the input's plane; where nobody uses it, it is not computed.
        index = torch.zeros_like(rest)
        scale = 1
        for dim in reversed(range(rank)):
            size, out = source.shape[dim - rank], values.shape[dim - rank]
            view = [out if place == dim else 1 for place in range(rank)]
            start = torch.arange(out, device=source.device) * found.stride[dim] - found.padding[dim]
            index = index + (start.view(view) + rest % found.kernel[dim] * found.dilation[dim]) * scale
            rest = rest // found.kernel[dim]
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
        found = _Pool.read(rank, kernel_size, stride, padding, ceil=ceil_mode)
        windows, dims = found.windows(source, 0.0), tuple(range(-rank, 0))
        if divisor_override is not None:
            return windows.sum(dims) / divisor_override
        if not ceil_mode and (count_include_pad or not any(found.padding)):
            return windows.mean(dims)
        inside = torch.ones(source.shape[-rank:], dtype=source.dtype, device=source.device)
        return windows.sum(dims) / found.windows(inside, float(count_include_pad), 0.0).sum(dims)

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
        return _Pool.read(rank, kernel).windows(source, 0.0).mean(tuple(range(-rank, 0)))

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
