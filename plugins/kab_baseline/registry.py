"""The registry: which operators the generator can write, and the text of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import torch

from kab_baseline import copies, losses, pointwise, products, rows, scans
from kab_baseline.definitions import activations, binary, normalizations, reductions, ternary, unary
from kab_baseline.definitions import copies as copy_table
from kab_baseline.definitions import indexing as index_table
from kab_baseline.definitions import losses as loss_table
from kab_baseline.definitions import products as product_table
from kab_baseline.definitions import scans as scan_table
from kab_baseline.definitions import selection as selection_table
from kab_baseline.signature import Signature, Writes, read_signature
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from kab_baseline.definition import Pointwise
    from kab_baseline.definitions.reductions import Builder

_POINTWISE: dict[str, Pointwise] = {
    **unary.OPERATORS,
    **binary.OPERATORS,
    **ternary.OPERATORS,
    **activations.OPERATORS,
    **loss_table.GRADIENTS,
}

_COPIES = {**copy_table.OPERATORS, **index_table.OPERATORS, **selection_table.OPERATORS}
_ROWS = {**reductions.BUILDERS, **normalizations.BUILDERS}


def base_of(signature: Signature) -> str:
    """Return the name under which the table has an operator: that of its functional form."""
    base = signature.operator.base
    if signature.writes is Writes.SELF and base.endswith("_") and not base.endswith("__"):
        return base.removesuffix("_")
    if base.startswith("__i") and base.endswith("__"):
        return "__" + base.removeprefix("__i")
    return base


def pointwise_of(signature: Signature) -> Pointwise | None:
    """Return the elementwise definition of an overload, None where there is none."""
    found = _POINTWISE.get(str(signature.operator)) or _POINTWISE.get(base_of(signature))
    return found if found is not None and pointwise.supports(found, signature) else None


def rows_builder(base: str) -> Builder | None:
    """Return what builds the definition of a reduction or normalisation, by the operator's base name."""
    return _ROWS.get(base)


def writer_of(signature: Signature) -> Callable[[], str] | None:
    """Return what writes an operator's kernel file, None where nothing does."""
    base = base_of(signature)
    elementwise = pointwise_of(signature)
    if elementwise is not None:
        return lambda: pointwise.write(elementwise, signature)
    build = _ROWS.get(base)
    definition = build(signature) if build is not None else None
    if definition is not None and rows.supports(definition, signature):
        return lambda: rows.write(definition, signature)
    product = product_table.OPERATORS.get(base)
    if product is not None and products.supports(product, signature):
        return lambda: products.write(product, signature)
    loss = loss_table.OPERATORS.get(base)
    if loss is not None and losses.supports(loss, signature):
        return lambda: losses.write(loss, signature)
    scan = scan_table.OPERATORS.get(base)
    if scan is not None and scans.supports(signature):
        return lambda: scans.write(scan, signature)
    copy = _COPIES.get(str(signature.operator))
    if copy is not None:
        return lambda: copies.write(copy, signature)
    return None


def write(operator: OperatorName) -> str | None:
    """Return the kernel file of an operator, None where it is not supported."""
    signature = read_signature(operator)
    writer = writer_of(signature) if signature is not None else None
    return writer() if writer is not None else None


@lru_cache(maxsize=1)
def supported() -> tuple[OperatorName, ...]:
    """Return every overload of this torch that the generator can write, sorted."""
    found = []
    for name in torch._C._dispatch_get_all_op_names():  # noqa: SLF001 - torch has no public list of operators
        if not name.startswith("aten::"):
            continue
        try:
            operator = OperatorName.parse(name)
        except ValueError:
            continue
        signature = read_signature(operator)
        if signature is not None and writer_of(signature) is not None:
            found.append(operator)
    return tuple(sorted(set(found)))
