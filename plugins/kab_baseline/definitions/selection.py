"""Sorting and the largest of a row: each element counts those that come before it, which is its place in the order."""

from __future__ import annotations

from kab_baseline.definitions.copies import Copy

_SORT = (
    "values = torch.empty_like(self)",
    "indices = torch.empty_like(self, dtype=torch.int64)",
    "return rank_into(values, indices, self, dim, descending)",
)
_TOPK = (
    "shape = list(self.shape)",
    "if shape:",
    "    shape[dim] = k",
    "values = torch.empty(shape, dtype=self.dtype, device=self.device)",
    "indices = torch.empty(shape, dtype=torch.int64, device=self.device)",
    "return rank_into(values, indices, self, dim, largest)",
)

OPERATORS: dict[str, Copy] = {
    "sort.default": Copy("the elements along dim in order, and where each came from", _SORT),
    "sort.stable": Copy("the elements along dim in order, and where each came from", _SORT),
    "topk.default": Copy("the k largest or smallest elements along dim in order, and where they are", _TOPK),
}
