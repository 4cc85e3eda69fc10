"""Rules for integers in an order or with a sum: offsets, lengths, boundaries, repetitions; and views of larger memory."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

from kagent_bench.suites.trace.draft import NoCase

if TYPE_CHECKING:
    from collections.abc import Callable

    from kagent_bench.model.case import Value
    from kagent_bench.suites.trace.draft import Draft, Slot

MAX_LISTED = 1 << 20
"""Integers with a given sum that are stored one by one."""
FEW_REPETITIONS = 3


def _sorted(draft: Draft, slot: Slot, *, descending: bool = False) -> None:
    if slot.shape:
        draft.compute(slot, "sort.default", slot.view, len(slot.shape) - 1, descending)


def _offsets(draft: Draft) -> None:
    """``_embedding_bag``: indices into the weight, cut into bags by offsets that rise from zero."""
    weight, indices, offsets = (draft.tensor(name) for name in ("weight", "indices", "offsets"))
    if indices is None or offsets is None:
        return
    n_rows = draft.integer("num_weights") if weight is None else weight.size(0)
    if indices.numel and n_rows < 1:
        raise NoCase("an index into a table without rows")
    # The backward of per-sample weights names the gradient of the output ``grad``: one row for each bag.
    indices.integers(0, max(0, n_rows - 1))
    offsets.integers(0, max(0, indices.size(0) - 1))
    _sorted(draft, offsets)
    first = replace(offsets.view, stride=(0,) * len(offsets.shape))
    draft.compute(offsets, "sub.Tensor", offsets.view, first)
    bags = draft.tensor("offset2bag")
    if bags is not None:
        bags.integers(0, max(0, offsets.size(0) - 1))
        _sorted(draft, bags)
    for sizes in draft.tensors("bag_size"):
        sizes.integers(1, 8)
    for places in draft.tensors("maximum_indices"):
        places.integers(0, max(0, n_rows - 1))


def _boundaries(draft: Draft) -> None:
    """``bucketize`` and ``searchsorted``: boundaries rise."""
    for slot in draft.tensors("boundaries", "sorted_sequence"):
        _sorted(draft, slot)


def _lengths(draft: Draft) -> None:
    """``_pack_padded_sequence``: lengths fall, and none is longer than the padded input."""
    source, lengths = draft.tensor("input"), draft.tensor("lengths")
    if source is not None and lengths is not None:
        lengths.integers(1, source.size(1 if draft.value("batch_first") is True else 0))
        _sorted(draft, lengths, descending=True)


def _batch_sizes(draft: Draft) -> None:
    """``_pad_packed_sequence``: sizes of steps fall, and add up to the rows of the data."""
    data, sizes = draft.tensor("data"), draft.tensor("batch_sizes")
    if data is not None and sizes is not None:
        _shares(sizes, data.size(0))


def _repetitions(draft: Draft) -> None:
    """``repeat_interleave``: counts that add up to the size of the output, where that is given."""
    for slot in draft.tensors("repeats"):
        total = draft.value("output_size")
        if isinstance(total, int):
            _shares(slot, total)
        else:
            slot.integers(0, FEW_REPETITIONS)


def _shares(slot: Slot, total: int) -> None:
    """Give a list of integers that fall by at most one from first to last and add up to ``total``."""
    n = slot.numel
    if not n or n > MAX_LISTED or slot.dtype not in {"int32", "int64"}:
        raise NoCase(f"{n} integers that must add up to {total}")
    each, more = divmod(total, n)
    letter = "q" if slot.dtype == "int64" else "i"
    slot.literal(struct.pack(f"<{n}{letter}", *(each + (index < more) for index in range(n))))


def _larger_memory(draft: Draft) -> None:
    """``as_strided`` looks past its argument: the memory reaches as far."""
    slot = draft.tensor("self")
    sizes, strides = _integers(draft.value("size")), _integers(draft.value("stride"))
    if slot is not None and sizes and 0 not in sizes and len(sizes) == len(strides):
        reach = sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
        draft.enlarge(slot, draft.integer("storage_offset") + reach + 1)


def _integers(value: Value) -> tuple[int, ...]:
    return tuple(item for item in value if isinstance(item, int)) if isinstance(value, tuple) else ()


RULES: dict[str, Callable[[Draft], None]] = {
    **dict.fromkeys(
        """
        embedding_bag _embedding_bag _embedding_bag_forward_only _embedding_bag_per_sample_weights_backward
        _embedding_bag_backward _embedding_bag_dense_backward
        """.split(),
        _offsets,
    ),
    **dict.fromkeys(["bucketize", "searchsorted"], _boundaries),
    "_pack_padded_sequence": _lengths,
    "_pad_packed_sequence": _batch_sizes,
    "repeat_interleave": _repetitions,
    **dict.fromkeys(["as_strided", "as_strided_copy", "as_strided_scatter"], _larger_memory),
}
