"""Operators that move elements and compute nothing: copies, fills, triangles, gathers, concatenation.

Each is the body of a host function over the functions of ``texts/host_copies.py.txt``; ``{result}`` stands for
what gives the tensor to write into: a new one, or the ``out`` argument.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Copy:
    """The host function of an operator that only moves elements."""

    summary: str
    """What it does, for the docstring of the file."""
    lines: tuple[str, ...]
    """Body of the host function."""


def _copy(summary: str, *lines: str) -> Copy:
    return Copy(summary, lines)


def _view(method: str, summary: str) -> Copy:
    """Return the copying form of a view operator: its result is contiguous."""
    return _copy(
        summary,
        f"view = {method}",
        "out = torch.empty(view.shape, dtype=view.dtype, device=view.device)",
        "return copy_into(out, view)",
    )


_LIKE = (
    "out = torch.empty_like("
    "self, dtype=dtype, layout=layout, device=device, memory_format=memory_format or torch.preserve_format)"
)
_PRESERVED = "out = torch.empty_like(self, memory_format=memory_format or torch.preserve_format)"
_EMPTY = "out = torch.empty({0}, dtype={1}.dtype, device={1}.device)"
_SELF_LIKE = "out = torch.empty(self.shape, dtype=self.dtype, device=self.device)"

_FLIP = (
    "out = torch.empty_like(self)",
    "wrapped = {dim % max(self.dim(), 1) for dim in dims} if self.dim() else set()",
    "strides = tuple(-step if dim in wrapped else step for dim, step in enumerate(self.stride()))",
    "start = sum((self.shape[dim] - 1) * self.stride(dim) for dim in wrapped)",
    "return copy_into(out, self, start, strides)",
)
_ROLL = (
    "shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)",
    "dims = (dims,) if isinstance(dims, int) else tuple(dims)",
    "out = torch.empty(self.shape, dtype=self.dtype, device=self.device)",
    "if not dims:",
    "    flat = copy_into(torch.empty(self.shape, dtype=self.dtype, device=self.device), self).view(-1)",
    "    for start, to, length in rolled_pieces(self.numel(), sum(shifts)):",
    "        copy_into(out.view(-1).narrow(0, to, length), flat.narrow(0, start, length))",
    "    return out",
    "moves = [0] * self.dim()",
    "for shift, dim in zip(shifts, dims):",
    "    moves[dim] += shift",
    "pieces = [rolled_pieces(size, move) for size, move in zip(self.shape, moves)]",
    "for choice in itertools.product(*pieces):",
    "    source, target = self, out",
    "    for dim, (start, to, length) in enumerate(choice):",
    "        source = source.narrow(dim, start, length)",
    "        target = target.narrow(dim, to, length)",
    "    copy_into(target, source)",
    "return out",
)
_CAT = (
    "dtype = common_dtype(*tensors)",
    "used = [tensor for tensor in tensors if tuple(tensor.shape) != (0,)] or list(tensors[:1])",
    "dim = dim % used[0].dim()",
    "shape = list(used[0].shape)",
    "shape[dim] = sum(tensor.shape[dim] for tensor in used)",
    "layout = common_layout(used)",
    "out = torch.empty(shape, dtype=dtype, device=used[0].device, memory_format=layout)",
    "start = 0",
    "for tensor in used:",
    "    copy_into(out.narrow(dim, start, tensor.shape[dim]), tensor)",
    "    start += tensor.shape[dim]",
    "return out",
)
_STACK = (
    "dtype = common_dtype(*tensors)",
    "dim = dim % (tensors[0].dim() + 1)",
    "shape = list(tensors[0].shape)",
    "shape.insert(dim, len(tensors))",
    "out = torch.empty(shape, dtype=dtype, device=tensors[0].device)",
    "for place, tensor in enumerate(tensors):",
    "    copy_into(out.select(dim, place), tensor)",
    "return out",
)
_REPEAT = (
    "missing = len(repeats) - self.dim()",
    "shape = (1,) * missing + tuple(self.shape)",
    "steps = (0,) * missing + self.stride()",
    "out = torch.empty(",
    "    [count * size for count, size in zip(repeats, shape)], dtype=self.dtype, device=self.device",
    ")",
    "if not out.numel():",
    "    return out",
    "tiles = out.view([part for pair in zip(repeats, shape) for part in pair])",
    "return_strides = tuple(part for step in steps for part in (0, step))",
    "copy_into(tiles, self, 0, return_strides)",
    "return out",
)
_PAD = (
    "pads = [(pad[2 * place], pad[2 * place + 1]) for place in range(len(pad) // 2)]",
    "pads = [(0, 0)] * (self.dim() - len(pads)) + pads[::-1]",
    "shape = [size + before + after for size, (before, after) in zip(self.shape, pads)]",
    "if any(size < 0 for size in shape):",
    '    raise RuntimeError(f"padding gives a negative size: {shape}")',
    "source = self",
    "for dim, (before, after) in enumerate(pads):",
    "    start, length = max(-before, 0), self.shape[dim] + min(before, 0) + min(after, 0)",
    "    source = source.narrow(dim, start if length > 0 else 0, max(length, 0))",
    "if all(before <= 0 and after <= 0 for before, after in pads):",
    "    return copy_into(torch.empty_like(source), source)",
    "out = torch.empty(shape, dtype=self.dtype, device=self.device, memory_format=common_layout([self]))",
    "target = fill_with(out, value)",
    "for dim, (before, after) in enumerate(pads):",
    "    target = target.narrow(dim, max(before, 0) if source.shape[dim] else 0, source.shape[dim])",
    "copy_into(target, source)",
    "return out",
)
_INDEX_SELECT = (
    "dim = dim % max(self.dim(), 1)",
    "shape = list(self.shape)",
    "if shape:",
    "    shape[dim] = index.numel()",
    "out = torch.empty(shape, dtype=self.dtype, device=self.device)",
    "steps = [0] * out.dim()",
    "if shape and index.dim():",
    "    steps[dim] = index.stride(0)",
    "return gather_into(out, self, dim, index, without(self.stride(), dim), tuple(steps))",
)
_GATHER = (
    "dim = dim % max(self.dim(), 1)",
    "out = torch.empty(index.shape, dtype=self.dtype, device=self.device)",
    "steps = without(self.stride(), dim) if self.dim() else (0,) * index.dim()",
    "index_steps = index.stride() if index.dim() else ()",
    "return gather_into(out, self, dim, index, steps if index.dim() else (), index_steps)",
)
_EMBEDDING = (
    "out = torch.empty((*indices.shape, weight.shape[1]), dtype=weight.dtype, device=weight.device)",
    "steps = (0,) * indices.dim() + (weight.stride(1),)",
    "return gather_into(out, weight, 0, indices, steps, (*indices.stride(), 0))",
)


def _overlay(view: str, source: str) -> tuple[str, ...]:
    return (
        "out = copy_into(strided_like(self), self)",
        f"copy_into({view}, {source})",
        "return out",
    )


def _placed(size: str, view: str) -> tuple[str, ...]:
    return (
        f"out = torch.empty({size}, dtype=grad_output.dtype, device=grad_output.device)",
        "fill_with(out, 0)",
        f"copy_into({view}, grad_output)",
        "return out",
    )


_VIEWS = {
    "alias_copy.default": "self",
    "detach_copy.default": "self",
    "expand_copy.default": "self.expand(size)",
    "permute_copy.default": "self.permute(dims)",
    "t_copy.default": "self.t()",
    "transpose_copy.int": "self.transpose(dim0, dim1)",
    "squeeze_copy.default": "self.squeeze()",
    "squeeze_copy.dim": "self.squeeze(dim)",
    "squeeze_copy.dims": "self.squeeze(dim)",
    "unsqueeze_copy.default": "self.unsqueeze(dim)",
    "select_copy.int": "self.select(dim, index)",
    "diagonal_copy.default": "self.diagonal(offset, dim1, dim2)",
    "unfold_copy.default": "self.unfold(dimension, size, step)",
    "as_strided_copy.default": "self.as_strided(size, stride, storage_offset)",
}

OPERATORS: dict[str, Copy] = {
    **{name: _view(view, f"contiguous copy of {view}") for name, view in _VIEWS.items()},
    "clone.default": _copy("copy", _PRESERVED, "return copy_into(out, self)"),
    "copy_.default": _copy("copy src into self", "return copy_into(self, src)"),
    "copy.default": _copy(
        "src in the shape, type and layout of self",
        "out = torch.empty_like(self)",
        "return copy_into(out, src)",
    ),
    "_to_copy.default": _copy(
        "copy with another data type or layout",
        "dtype = self.dtype if dtype is None else dtype",
        "device = self.device if device is None else device",
        "layout = self.layout if layout is None else layout",
        _LIKE,
        "return copy_into(out, self)",
    ),
    "flip.default": _copy("reverse the order along dims", *_FLIP),
    "roll.default": _copy("shift along dims, what leaves comes in at the other end", *_ROLL),
    "cat.default": _copy("one after the other along dim", *_CAT),
    "stack.default": _copy("side by side along a new dim", *_STACK),
    "repeat.default": _copy("tile self", *_REPEAT),
    "constant_pad_nd.default": _copy("self with a border of value", *_PAD),
    "index_select.default": _copy("the elements along dim that index names", *_INDEX_SELECT),
    "gather.default": _copy("for each index the element along dim that it names", *_GATHER),
    "embedding.default": _copy("the rows of weight that indices name", *_EMBEDDING),
    "tril.default": _copy(
        "lower triangle", _SELF_LIKE, "return keep_triangle(out, self, diagonal, upper=False)"
    ),
    "triu.default": _copy(
        "upper triangle", _SELF_LIKE, "return keep_triangle(out, self, diagonal, upper=True)"
    ),
    "tril_.default": _copy(
        "lower triangle, in place", "return keep_triangle(self, self, diagonal, upper=False)"
    ),
    "triu_.default": _copy(
        "upper triangle, in place", "return keep_triangle(self, self, diagonal, upper=True)"
    ),
    "fill_.Scalar": _copy("set every element", "return fill_with(self, value)"),
    "fill_.Tensor": _copy("set every element", "return copy_into(self, value)"),
    "fill.Scalar": _copy(
        "self's shape, every element value", "out = torch.empty_like(self)", "return fill_with(out, value)"
    ),
    "fill.Tensor": _copy(
        "self's shape, every element value", "out = torch.empty_like(self)", "return copy_into(out, value)"
    ),
    "zero_.default": _copy("set every element to 0", "return fill_with(self, 0)"),
    "zero.default": _copy("zeros like self", "out = torch.empty_like(self)", "return fill_with(out, 0)"),
    "select_scatter.default": _copy("self with src in one slice", *_overlay("out.select(dim, index)", "src")),
    "diagonal_scatter.default": _copy(
        "self with src on a diagonal", *_overlay("out.diagonal(offset, dim1, dim2)", "src")
    ),
    "slice_scatter.default": _copy(
        "self with src in some slices", *_overlay("sliced(out, dim, start, end, step)", "src")
    ),
    "select_backward.default": _copy("gradient of select", *_placed("input_sizes", "out.select(dim, index)")),
    "slice_backward.default": _copy(
        "gradient of slice", *_placed("input_sizes", "sliced(out, dim, start, end, step)")
    ),
    "diagonal_backward.default": _copy(
        "gradient of diagonal", *_placed("input_sizes", "out.diagonal(offset, dim1, dim2)")
    ),
    "unbind_copy.int": _copy(
        "contiguous copies of the slices along dim",
        "return [copy_into(new_like(view), view) for view in self.unbind(dim)]",
    ),
    "split_with_sizes_copy.default": _copy(
        "contiguous copies of the pieces along dim",
        "return [copy_into(new_like(view), view) for view in self.split(split_sizes, dim)]",
    ),
    "narrow_copy.default": _copy(
        "contiguous copy of a piece along dim",
        "view = self.narrow(dim, start, length)",
        "return copy_into(new_like(view), view)",
    ),
    "diag_embed.default": _copy(
        "self on a diagonal, zero elsewhere",
        "rank = self.dim() + 1",
        "first, second = dim1 % rank, dim2 % rank",
        "size = self.shape[-1] + abs(offset)",
        "shape = list(self.shape[:-1])",
        "for dim in sorted((first, second)):",
        "    shape.insert(dim, size)",
        "out = fill_with(torch.empty(shape, dtype=self.dtype, device=self.device), 0)",
        "copy_into(out.diagonal(offset, first, second), self)",
        "return out",
    ),
    "pixel_shuffle.default": _copy(
        "channels to pixels",
        "*batch, channels, height, width = self.shape",
        "factor = upscale_factor",
        "kept = channels // factor**2",
        "out = torch.empty((*batch, kept, height * factor, width * factor), dtype=self.dtype, device=self.device)",
        "if not out.numel():",
        "    return out",
        "source = self.unflatten(-3, (kept, factor, factor))",
        "target = out.view(*batch, kept, height, factor, width, factor)",
        "n = len(batch)",
        "copy_into(target, source.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2))",
        "return out",
    ),
    "pixel_unshuffle.default": _copy(
        "pixels to channels",
        "*batch, channels, height, width = self.shape",
        "factor = downscale_factor",
        "high, wide = height // factor, width // factor",
        "out = torch.empty((*batch, channels * factor**2, high, wide), dtype=self.dtype, device=self.device)",
        "if not out.numel():",
        "    return out",
        "source = self.unflatten(-1, (wide, factor)).unflatten(-3, (high, factor))",
        "target = out.view(*batch, channels, factor, factor, high, wide)",
        "n = len(batch)",
        "copy_into(target, source.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3))",
        "return out",
    ),
    "channel_shuffle.default": _copy(
        "interleave groups of channels",
        "out = new_like(self)",
        "if not self.numel():",
        "    return out",
        "size = (groups, self.shape[1] // groups)",
        "copy_into(out.unflatten(1, size[::-1]).transpose(1, 2), self.unflatten(1, size))",
        "return out",
    ),
}
for _name, _value in (("zeros_like", "0"), ("ones_like", "1"), ("full_like", "fill_value")):
    OPERATORS[f"{_name}.default"] = _copy(
        f"self's shape, every element {_value}",
        "dtype = self.dtype if dtype is None else dtype",
        "device = self.device if device is None else device",
        "layout = self.layout if layout is None else layout",
        _LIKE,
        f"return fill_with(out, {_value})",
    )
for _name, _shape, _value in (
    ("full", "size", "fill_value"),
    ("zeros", "size", "0"),
    ("ones", "size", "1"),
    ("new_full", "size", "fill_value"),
    ("new_zeros", "size", "0"),
    ("new_ones", "size", "1"),
):
    OPERATORS[f"{_name}.default"] = _copy(
        f"a new tensor, every element {_value}",
        *(
            (
                "dtype = self.dtype if dtype is None else dtype",
                "device = self.device if device is None else device",
            )
            if _name.startswith("new_")
            else ("dtype = dtype or default_dtype(fill_value)",)
            if _name == "full"
            else ()
        ),
        f"out = torch.empty({_shape}, dtype=dtype, layout=layout or torch.strided, device=device)",
        f"return fill_with(out, {_value})",
    )
