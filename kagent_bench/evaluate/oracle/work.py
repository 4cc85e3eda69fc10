"""Who did the work: the ATen calls and launches of a candidate, as seen from inside it, classified by trusted code.

Seen from inside the candidate's process this is evidence, not proof. Allocation, views, metadata, copies and
fills are allowed, except where that is the very operator judged.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import torch

from kagent_bench.evaluate.oracle.semantics import COPIES, Semantics, overload, schema_of
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from collections.abc import Iterable

ALLOCATIONS = frozenset(
    """
    empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ set_ detach detach_ lift lift_fresh
    _local_scalar_dense is_same_size is_pinned _pin_memory record_stream sym_size sym_stride sym_numel
    sym_storage_offset
    """.split()
)
"""Always allowed: memory without values, its metadata, and a single element as a number."""
METADATA = frozenset(
    """
    result_type can_cast promote_types is_floating_point is_complex is_signed is_conj is_neg is_inference
    is_contiguous is_non_overlapping_and_dense dim numel size stride storage_offset
    """.split()
)
"""Always allowed: questions that no element's value answers, as those that type promotion asks."""
FILLS = COPIES | frozenset(["arange", "contiguous", "_copy_from", "_copy_from_and_resize"])
"""Allowed where the operator judged is not itself a copy or a fill."""
LAZY = frozenset(["_conj", "_neg_view"])
"""Views that are negated or conjugated when somebody reads them: the library's work, put off."""
VIEW_NAMESPACES = frozenset(["prim", "prims", "profiler", "c10"])


def library_calls(calls: Iterable[str], semantics: Semantics) -> tuple[str, ...]:
    """Return the calls that computed something, sorted.

    Args:
        calls: operator names with namespace, as ``aten.relu.default``.
        semantics: the operator judged.
    """
    return tuple(sorted(call for call in set(calls) if not _allowed(call, semantics)))


def recorded_compute(names: Iterable[str]) -> tuple[str, ...]:
    """Return those that computed something, sorted, of the operators that torch itself recorded.

    It sees also what was called below the dispatch mode that watches the candidate, or in a thread of its own. It
    names no overload, and records the fills of poisoned memory, too, so that copies and fills never count.

    Args:
        names: as ``aten::relu``; other namespaces are left to ``library_calls``.
    """
    return tuple(sorted(name for name in set(names) if name.startswith("aten::") and not _harmless(name[6:])))


@lru_cache(maxsize=4096)
def _harmless(base: str) -> bool:
    if base in ALLOCATIONS | METADATA | FILLS:
        return True
    if base in LAZY:
        return False
    packet = getattr(torch.ops.aten, base, None)
    overloads = packet.overloads() if packet is not None else ()
    judged = [name for name in overloads if "out" not in name]
    return bool(judged) and all(_is_view(f"{base}.{name}") or _is_composite(base, name) for name in judged)


def _is_composite(base: str, overload: str) -> bool:
    """Return whether an operator is made of others, which are recorded as well."""
    name = f"aten::{base}" if overload == "default" else f"aten::{base}.{overload}"
    try:
        return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"))  # noqa: SLF001
    except RuntimeError:
        return True  # an overload on Python's numbers, of TorchScript only


def _allowed(call: str, semantics: Semantics) -> bool:
    namespace, _, rest = call.partition(".")
    if namespace in VIEW_NAMESPACES:
        return True
    if namespace != "aten":
        return False
    base = rest.partition(".")[0]
    if base in ALLOCATIONS | METADATA or (base in FILLS and not semantics.copies):
        return True
    return base not in LAZY and _is_view(rest)


@lru_cache(maxsize=4096)
def _is_view(name: str) -> bool:
    try:
        # A process may claim any name, also one of an attribute that is no operator.
        schema = schema_of(overload(OperatorName.parse(name)))
    except (AttributeError, ValueError):
        return False
    infos = [argument.alias_info for argument in schema.arguments]
    returned = [value.alias_info for value in schema.returns]
    written = any(info is not None and info.is_write for info in infos)
    return not written and any(info is not None for info in returned)
