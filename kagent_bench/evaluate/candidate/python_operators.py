"""Operators that are made of others: those that a kernel file registers to wrap its launches, and torch's composite ones.

What one of them does is seen as it is done: the dispatch mode stays on while its kernel runs. That it was called says
nothing, neither against a kernel nor for it. torch takes its own apart before a mode sees them, but not in inference
mode, nor in an operator that a kernel file registered.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import torch
import torch.library
from torch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COMPILED = frozenset(
    name.partition(".")[0]
    for name in torch._C._dispatch_get_all_op_names()  # noqa: SLF001 - torch has no public list
) - frozenset(torch.library._defs)  # noqa: SLF001 - where torch keeps what Python defined
"""Operators that were there before any kernel file, with kernels that are not written in Python."""


@cache
def is_written_in_python(function: torch._ops.OpOverload) -> bool:
    """Return whether an operator was defined in Python, by a kernel file or by torch itself."""
    name = function._schema.name  # noqa: SLF001 - torch has no public way to it
    return name in torch.library._defs and name not in _COMPILED  # noqa: SLF001 - as above


@cache
def is_composite(function: torch._ops.OpOverload) -> bool:
    """Return whether an operator is nothing but calls of others, such as ``contiguous`` and ``broadcast_tensors``."""
    schema = function._schema  # noqa: SLF001 - torch has no public way to it
    name = f"{schema.name}.{schema.overload_name}".removesuffix(".")
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")  # noqa: SLF001 - as above


def run_its_kernel(function: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call the kernel of an operator for the device of its arguments, under the modes that are on.

    A call of the operator itself would reach these modes once more, with the same operator.
    """
    devices = [item.device.type for item in tree_leaves((args, kwargs)) if isinstance(item, torch.Tensor)]
    key = getattr(torch._C.DispatchKey, (devices or ["cpu"])[0].upper())  # noqa: SLF001 - named in the public registration
    return function.redispatch(torch._C.DispatchKeySet(key), *args, **kwargs)  # noqa: SLF001
