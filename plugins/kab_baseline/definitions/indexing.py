"""Scattering along a dimension and indexing with tensors of integers or truths: ``self[i, :, j]``, ``self[mask]``, and writing there."""

from __future__ import annotations

from kab_baseline.definitions.copies import Copy

_INDEX = (
    "indices = plain_indices(indices)",
    "dims, rest, lead = indexed_dims(self, indices)",
    "places = index_places(self, indices, [self.stride(dim) for dim in dims])",
    "shape = [self.shape[dim] for dim in rest]",
    "steps = [self.stride(dim) for dim in rest]",
    "index_steps = [0] * len(rest)",
    "shape[lead:lead], steps[lead:lead] = places.shape, [0] * places.dim()",
    "index_steps[lead:lead] = places.stride()",
    "out = torch.empty(shape, dtype=self.dtype, device=self.device)",
    "return gather_places(out, self, places, tuple(steps), tuple(index_steps))",
)


def _put(result: str) -> tuple[str, ...]:
    return (
        "indices = plain_indices(indices)",
        "dims, rest, lead = indexed_dims(self, indices)",
        "sizes, others = [self.shape[dim] for dim in dims], [self.shape[dim] for dim in rest]",
        "width = math.prod(others)",
        "rows = copy_into(new_like(self.permute(*dims, *rest)), self.permute(*dims, *rest)).view(-1, width)",
        "steps = [math.prod(sizes[place + 1 :]) for place in range(len(sizes))]",
        "places = index_places(self, indices, steps)",
        "spread = values.expand((*others[:lead], *places.shape, *others[lead:]))",
        "inner = range(lead, lead + places.dim())",
        "source = spread.permute((*inner, *(dim for dim in range(spread.dim()) if dim not in inner)))",
        "source = source.reshape(places.numel(), width)",
        'how = "sum" if accumulate else "write"',
        "made = scatter_slices(new_like(rows), rows, 0, places.view(-1), source, how=how)",
        result,
        "copy_into(out.permute(*dims, *rest), made.view(*sizes, *others))",
        "return out",
    )


def _along(function: str, source: str, *more: str) -> str:
    return f"return {function}(out, self, dim, index, {source}{''.join(f', {item}' for item in more)})"


_SUM = 'how="sum"'
_REDUCED = ("how=reduce", "include_self=include_self")
_ALONG: dict[str, tuple[str, str]] = {
    "scatter{}.src": ("src at the places", _along("scatter_into", "src")),
    "scatter{}.value": ("value at the places", _along("scatter_into", "value")),
    "scatter{}.reduce": ("src reduced at the places", _along("scatter_into", "src", "how=reduce")),
    "scatter{}.value_reduce": ("value reduced at the places", _along("scatter_into", "value", "how=reduce")),
    "scatter_add{}.default": ("src added at the places", _along("scatter_into", "src", _SUM)),
    "scatter_reduce{}.two": ("src reduced at the places", _along("scatter_into", "src", *_REDUCED)),
    "index_add{}.default": (
        "alpha * source added at the places",
        _along("scatter_slices", "source", "alpha", _SUM),
    ),
    "index_copy{}.default": ("source at the places", _along("scatter_slices", "source")),
    "index_fill{}.int_Scalar": ("value at the places", _along("scatter_slices", "value")),
    "index_reduce{}.default": ("source reduced at the places", _along("scatter_slices", "source", *_REDUCED)),
}
"""By overload, with ``{}`` where that in place has an underscore: what is written, and how."""

OPERATORS: dict[str, Copy] = {}
for _prefix in ("", "_unsafe_"):
    OPERATORS[f"{_prefix}index.Tensor"] = Copy("the elements that lists of indices name together", _INDEX)
    OPERATORS[f"{_prefix}index_put.default"] = Copy(
        "self with values at the places that lists of indices name together", _put("out = new_like(self)")
    )
OPERATORS["index_put_.default"] = Copy(
    "write values at the places that lists of indices name together", _put("out = self")
)
for _name, (_what, _line) in _ALONG.items():
    for _place, _result in (("", "out = new_like(self)"), ("_", "out = self")):
        OPERATORS[_name.format(_place)] = Copy(
            f"self with {_what} that index names along dim", (_result, _line)
        )
