"""How much work a case asks for: bytes that must move and floating point operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kagent_bench.model.case import ITEM_BYTES, Case, TensorSpec, Value
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch

    from kagent_bench.evaluate.oracle.semantics import Semantics


NEEDS_ALL = frozenset(
    """
    _softmax _log_softmax softmax log_softmax native_layer_norm layer_norm native_group_norm group_norm
    native_batch_norm batch_norm _fused_rms_norm rms_norm var std var_mean std_mean norm linalg_vector_norm
    """.split()
)
"""Further operators every input element of which decides about the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The least that a call must do."""

    read_bytes: int
    """Bytes of the elements that the call's arguments look at, each once."""
    must_read_bytes: int
    """The part of them that no right kernel can leave unread."""
    written_bytes: int
    """Bytes of the outputs, arguments that are written included."""
    flops: int
    """Floating point operations by torch's own counters; 0 where it has none for the operator."""


def work_of(case: Case, semantics: Semantics, outputs: Sequence[torch.Tensor], flops: int) -> Work:
    """Return the work of a case.

    Every element counts once, however often it is looked at, and an expanded one not more often.

    Args:
        case: the call.
        semantics: its operator's class; an elementwise operator, a reduction or a product needs all of its inputs.
        outputs: what eager returned.
        flops: what ``count_flops`` counted.
    """
    read = _looked_at_bytes(case)
    needs_all = (
        semantics.elementwise
        or semantics.linear
        or bool(semantics.specials.values)
        or (isinstance(semantics.name, OperatorName) and semantics.name.base in NEEDS_ALL)
    )
    return Work(
        read_bytes=read,
        must_read_bytes=read if needs_all else 0,
        written_bytes=sum(leaf.numel() * leaf.element_size() for leaf in outputs),
        flops=flops,
    )


def count_flops(operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> int:
    """Return the floating point operations of a call by torch's counters: products, convolutions, attention."""
    from torch.utils.flop_counter import flop_registry  # imports triton, for those only who time

    counter = flop_registry.get(getattr(operator, "overloadpacket", operator))
    if counter is None:
        return 0
    try:
        return int(counter(*args, **kwargs, out_val=result))
    except Exception:  # noqa: BLE001 - a counter that does not know this form of the call counts nothing
        return 0


def _looked_at_bytes(case: Case) -> int:
    total = 0
    for index, storage in enumerate(case.storages):
        distinct = 0
        for spec in _tensors((*case.args, *(value for _, value in case.kwargs))):
            if spec.storage == index:
                own = 1
                for size, stride in zip(spec.shape, spec.stride, strict=True):
                    own *= size if stride else min(size, 1)
                distinct += own
        total += min(distinct, storage.numel) * ITEM_BYTES[storage.dtype]
    return total


def _tensors(values: Sequence[Value]) -> Iterator[TensorSpec]:
    for value in values:
        if isinstance(value, TensorSpec):
            yield value
        elif isinstance(value, tuple):
            yield from _tensors(value)
