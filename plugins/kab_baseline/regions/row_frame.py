"""Regions without a product: the row frame over the region's axes. A pointwise region is one without passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kab_baseline.definition import RowResult, Rows, Variant
from kab_baseline.layout import wrap
from kab_baseline.regions.hosting import allocation, compute_name, shape_text, strides_text
from kab_baseline.rows import TILE, RowKernel

if TYPE_CHECKING:
    from kab_baseline.regions.analysis import Analysis
    from kab_baseline.regions.body import Body, Operand

CONSTANTS = {"TILE": TILE}
LARGEST_COLUMNS = 1024
"""Most columns of a block."""
FEWEST_COLUMNS = 64
"""Elements of the innermost loop from which on it is long enough for a block's columns."""


def write_rows(found: Analysis, body: Body, name: str) -> tuple[str, list[str]]:
    """Return the kernel of a region and the lines of its host function.

    Args:
        found: the analysed region.
        body: its formulas.
        name: of the kernel.
    """
    columns = _columns(found)
    rows = [axis for axis in found.axes.order if axis not in columns]
    places = [axis for axis in found.axes.order if axis in columns]
    in_rows = [item for item in body.operands if found.axes.reduced is not None and not item.axes & columns]
    in_elements = [item for item in body.operands if item not in in_rows]
    results = {value: f"out_{index}" for index, value in enumerate(found.outputs)}
    per_element = {
        value: found.axes.reduced is None or found.axes.is_element(found.axes.layouts[value])
        for value in found.outputs
    }
    definition = Rows(
        summary="",
        variants=(),
        results=tuple(
            RowResult(name=results[value], dtype="", per_element=per_element[value])
            for value in found.outputs
        ),
        operands=tuple(item.name for item in in_elements),
        row_operands=tuple(item.name for item in in_rows),
        largest_columns=LARGEST_COLUMNS,
    )
    names = tuple(item.name for item in body.operands)
    kernel = RowKernel(definition, Variant(name="", when="", body=body.function(), names=names), name)
    lines = [allocation(found, value, results[value]) for value in found.outputs]
    lines += _launch(found, kernel, body, results, per_element, rows, places)
    return kernel.text(), lines


def _columns(found: Analysis) -> set[int]:
    """Return the axes of a row: the reduced ones, else the innermost ones that are long enough."""
    if found.axes.reduced is not None:
        return set(found.axes.reduced)
    columns: set[int] = set()
    length = 1
    for axis in reversed(found.axes.order):
        if length >= FEWEST_COLUMNS:
            break
        columns.add(axis)
        length *= found.axes.sizes[axis]
    return columns


def _launch(
    found: Analysis,
    kernel: RowKernel,
    body: Body,
    results: dict[str, str],
    per_element: dict[str, bool],
    rows: list[int],
    places: list[int],
) -> list[str]:
    by_name: dict[str, Operand] = {item.name: item for item in body.operands}
    elements = [by_name[name] for name in kernel.operands]
    in_rows = [by_name[name] for name in kernel.row_operands]
    n_rows, n_columns = found.axes.size(tuple(rows)), found.axes.size(tuple(places))
    outs = list(results.values())
    row_strides = [strides_text(found, value, out, rows) for value, out in results.items()]
    row_strides += [strides_text(found, item, item.value, rows) for item in (*elements, *in_rows)]
    column_strides = [
        strides_text(found, value, out, places) for value, out in results.items() if per_element[value]
    ]
    column_strides += [strides_text(found, item, item.value, places) for item in elements]
    ordered = any(getattr(node.target, "name", "") == "row_first" for node in kernel.graph.nodes)
    if ordered:
        column_strides.append("keep_order=True")
    items = [*outs, *(item.value for item in (*elements, *in_rows)), str(n_rows), str(n_columns)]
    items.append(f"*flatten({', '.join([shape_text(found, rows), *row_strides])})")
    items.append(
        f"*flatten({', '.join([shape_text(found, places), *column_strides])})"
        if column_strides and column_strides != ["keep_order=True"]
        else shape_text(found, places)
    )
    items += [f"COMPUTE={compute_name(found)}", "ROWS=block_rows", "COLUMNS=block_columns"]
    return [
        f"block_rows, block_columns = tile({n_rows}, {n_columns}, {LARGEST_COLUMNS})",
        wrap(f"{kernel.name}[(triton.cdiv({n_rows}, block_rows),)]", items, ""),
    ]
