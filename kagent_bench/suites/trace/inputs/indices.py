"""Rules for integers that are places: every index is in range, and without repetition where the last one would win."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING

from kagent_bench.model.case import SymbolSpec, TensorSpec
from kagent_bench.suites.trace.draft import NoCase

if TYPE_CHECKING:
    from collections.abc import Callable

    from kagent_bench.model.case import Value
    from kagent_bench.suites.trace.draft import Draft, Slot

MANY = 2**31 - 1
"""Integers that are sorted to shuffle positions are drawn below this: two are hardly ever equal."""
WITHOUT_CONVERSION = False
"""``half_to_float`` of a softmax."""
MAX_MASK_ELEMENTS = 1 << 22
"""Elements of the largest mask with a given number of true ones: it is stored element by element."""


def _in_range(slot: Slot | None, size: int) -> None:
    """Draw places of a dimension of ``size``.

    Raises:
        NoCase: there are none.
    """
    if slot is None or not slot.numel:
        return
    if size < 1:
        raise NoCase("an index into a dimension without elements")
    slot.integers(0, size - 1)


def _shuffled(draft: Draft, slot: Slot | None, size: int, dim: int = -1) -> None:
    """Draw places that differ from each other along ``dim``, as far as there are enough; else any in range."""
    _in_range(slot, size)
    if slot is not None and slot.numel and slot.shape and slot.size(dim) <= size and slot.dtype == "int64":
        slot.integers(0, MANY)
        draft.compute(slot, "argsort.default", slot.view, dim)


def _dimension(draft: Draft, of: str = "self") -> int:
    """Return the size of the dimension ``dim`` of an argument."""
    slot = draft.tensor(of)
    dim = draft.integer("dim")
    if slot is None or (slot.shape and not -len(slot.shape) <= dim < len(slot.shape)):
        raise NoCase("a dimension that the tensor does not have")
    return slot.size(dim)


def _along(draft: Draft, *, unique: bool = False) -> None:
    """``gather``, ``scatter`` and their like: ``index`` holds places of dimension ``dim`` of ``self``."""
    index = draft.tensor("index")
    size = _dimension(draft)
    if unique and draft.value("reduce") is None:
        _shuffled(draft, index, size, draft.integer("dim"))
    else:
        _in_range(index, size)


def _select(draft: Draft, *, unique: bool = False) -> None:
    """``index_select``, ``index_add``, ``index_copy``: one list of places."""
    index, size = draft.tensor("index"), _dimension(draft)
    if unique:
        _shuffled(draft, index, size)
    else:
        _in_range(index, size)


def _embedding(draft: Draft) -> None:
    weight = draft.tensor("weight")
    _in_range(draft.tensor("indices"), 0 if weight is None else weight.size(0))


def _embedding_backward(draft: Draft) -> None:
    _in_range(draft.tensor("indices"), draft.integer("num_weights"))


def _advanced(draft: Draft) -> None:
    """``index`` and ``index_put``: a list of index tensors, masks or None, one for each dimension from the first."""
    source, listed = draft.tensor("self"), draft.value("indices")
    if source is None or not isinstance(listed, tuple):
        return
    writes = draft.tensor("values") is not None and draft.value("accumulate") is not True
    slots = iter(draft.tensors("indices"))
    dimension = 0
    for item in listed:
        slot = next(slots) if isinstance(item, TensorSpec) else None
        if slot is None:
            dimension += 1
        elif slot.dtype in {"bool", "uint8"}:
            _mask(draft, slot)
            dimension += len(slot.shape)
        else:
            if dimension >= len(source.shape):
                raise NoCase("more indices than dimensions")
            size = source.size(dimension)
            if writes and len(slot.shape) == 1:
                _shuffled(draft, slot, size)
            else:
                _in_range(slot, size)
            dimension += 1


def _mask(draft: Draft, slot: Slot) -> None:
    """Give a mask as many true elements as there are values to place."""
    slot.integers(0, 1)
    values = draft.tensor("values")
    if values is None or not values.shape or values.numel <= 1 or not slot.numel:
        return
    wanted = values.size(0)
    if slot.numel > MAX_MASK_ELEMENTS or wanted > slot.numel:
        raise NoCase("a mask that cannot have as many true elements as there are values")
    places = random.Random(wanted).sample(range(slot.numel), wanted)  # noqa: S311 - any places do
    data = bytearray(slot.numel)
    for place in places:
        data[place] = 1
    slot.literal(bytes(data))


def _classes(draft: Draft) -> None:
    """``nll_loss``: logarithms of probabilities, classes in range, and the sum of weights that the forward gave."""
    scores, target = draft.tensor("self"), draft.tensor("target")
    if scores is None or target is None:
        return
    dim = 1 if len(scores.shape) > 1 else 0
    _in_range(target, scores.size(dim))
    if scores.is_floating:
        draft.compute(scores, "_log_softmax.default", scores.view, dim, WITHOUT_CONVERSION)
    total = draft.tensor("total_weight")
    if total is not None:
        forward = draft.operator.base.replace("_backward", "_forward")
        names = ("self", "target", "weight", "reduction", "ignore_index")
        draft.compute(total, f"{forward}.default", *(draft.value(name) for name in names), output=1)


def _cross_entropy(draft: Draft) -> None:
    scores, target = draft.tensor("self"), draft.tensor("target")
    if scores is not None and target is not None:
        target.uniform(0.0, 1.0)
        if not target.is_floating:
            _in_range(target, scores.size(1 if len(scores.shape) > 1 else 0))


def _one_hot(draft: Draft) -> None:
    n_classes = draft.integer("num_classes", -1)
    _in_range(draft.tensor("self"), n_classes if n_classes > 0 else 10)


def _counted(draft: Draft) -> None:
    """``bincount``: integers from zero."""
    _in_range(draft.tensor("self"), 64)


def _take(draft: Draft, *, unique: bool = False) -> None:
    source = draft.tensor("self")
    size = 0 if source is None else _n_elements(source.shape)
    if unique:
        _shuffled(draft, draft.tensor("index"), size)
    else:
        _in_range(draft.tensor("index"), size)


def _reduction_backward(draft: Draft) -> None:
    """``value_selecting_reduction_backward``: the places that a maximum was at."""
    sizes, dim = draft.value("sizes"), draft.integer("dim")
    if isinstance(sizes, tuple) and sizes and isinstance(sizes[dim], int):
        _in_range(draft.tensor("indices"), sizes[dim])  # type: ignore[arg-type]


def _unpool(draft: Draft) -> None:
    """``max_unpool``: places in an image of the output's size."""
    sizes = draft.value("output_size")
    if isinstance(sizes, tuple):
        _in_range(
            draft.tensor("indices"), _n_elements(tuple(size for size in sizes if isinstance(size, int)))
        )


def _sparse(draft: Draft) -> None:
    """``_sparse_coo_tensor_...``: makes a sparse tensor, which no kernel returns and no oracle compares."""
    layout = draft.value("layout")
    name = layout.name if isinstance(layout, SymbolSpec) else "sparse"
    raise NoCase(f"the result is a {name} tensor")


def _n_elements(shape: tuple[Value, ...]) -> int:
    numel = 1
    for size in shape:
        numel *= size if isinstance(size, int) else 1
    return numel


RULES: dict[str, Callable[[Draft], None]] = {
    **dict.fromkeys(["gather", "scatter_add", "scatter_reduce"], _along),
    "scatter": partial(_along, unique=True),
    **dict.fromkeys(["index_select", "index_add", "index_fill", "index_reduce"], _select),
    "index_copy": partial(_select, unique=True),
    **dict.fromkeys(["embedding", "embedding_renorm"], _embedding),
    **dict.fromkeys(["embedding_dense_backward", "embedding_backward"], _embedding_backward),
    **dict.fromkeys(
        [
            "index",
            "index_put",
            "_index_put_impl",
            "_unsafe_index",
            "_unsafe_index_put",
            "_unsafe_masked_index",
        ],
        _advanced,
    ),
    **dict.fromkeys(
        "nll_loss nll_loss_forward nll_loss_backward nll_loss2d nll_loss2d_forward nll_loss2d_backward".split(),
        _classes,
    ),
    "cross_entropy_loss": _cross_entropy,
    "one_hot": _one_hot,
    "bincount": _counted,
    "take": _take,
    "put": partial(_take, unique=True),
    "value_selecting_reduction_backward": _reduction_backward,
    **dict.fromkeys(["max_unpool2d", "max_unpool3d"], _unpool),
    **dict.fromkeys(
        """
        _sparse_coo_tensor_with_dims_and_tensors _sparse_coo_tensor_with_dims sparse_coo_tensor to_sparse _to_sparse
        _sparse_coo_tensor_unsafe sparse_compressed_tensor _sparse_compressed_tensor_unsafe
        """.split(),
        _sparse,
    ),
}
