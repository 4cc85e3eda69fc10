"""Writes a traced call as text that this package, BackendBench and tritonbench read: the inverse of ``grammar``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kagent_bench.model.call_text import DTYPE_ABBREVIATIONS
from kagent_bench.model.case import SymbolSpec
from kagent_bench.suites.trace.call import Arguments, SparseTensor, TracedTensor

if TYPE_CHECKING:
    from kagent_bench.suites.trace.call import TracedValue


def arguments_text(arguments: Arguments) -> str:
    """Return ``((T([4], f16), 1), {'alpha': 2})``."""
    args = "".join(f"{value_text(value)}, " for value in arguments.args)
    args = args[:-1] if len(arguments.args) == 1 else args[:-2]
    kwargs = ", ".join(f"{name!r}: {value_text(value)}" for name, value in arguments.kwargs)
    return f"(({args}), {{{kwargs}}})"


def value_text(value: TracedValue) -> str:
    """Return one value as text."""
    if isinstance(value, TracedTensor):
        stride = "" if value.stride is None else f", {list(value.stride)}"
        return f"T({list(value.shape)}, {DTYPE_ABBREVIATIONS[value.dtype]}{stride})"
    if isinstance(value, SparseTensor):
        known = f"{DTYPE_ABBREVIATIONS[value.dtype]}, torch.{value.layout}, {value.coalesced}, {value.nnz}"
        return f"ST({list(value.shape)}, {known})"
    if isinstance(value, SymbolSpec):
        return _symbol_text(value)
    if isinstance(value, tuple):
        return f"[{', '.join(value_text(item) for item in value)}]"
    if isinstance(value, complex):
        return f"({_float_text(value.real)}{'' if _float_text(value.imag)[0] == '-' else '+'}{_float_text(value.imag)}j)"
    return _float_text(value) if isinstance(value, float) else repr(value)


def _symbol_text(symbol: SymbolSpec) -> str:
    if symbol.kind == "dtype":
        return DTYPE_ABBREVIATIONS.get(symbol.name, f"torch.{symbol.name}")
    if symbol.kind == "device":
        return f"torch.device('{'cuda' if symbol.name == 'target' else symbol.name}')"
    return f"torch.{symbol.name}"


def _float_text(value: float) -> str:
    """Return a number that BackendBench's reader knows: it has ``inf``, and ``torch`` for what it lacks."""
    if math.isnan(value):
        return "torch.nan"
    return ("inf" if value > 0 else "-inf") if math.isinf(value) else repr(value)
