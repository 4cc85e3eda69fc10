"""Regions without a product: how their loops are laid out, and the host function that launches their kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kab_baseline.layout import wrap
from kab_baseline.primitives import trace
from kab_baseline.regions.hosting import (
    allocation,
    compute_name,
    dims_text,
    own_dims,
    own_strides,
    power_of_two,
)
from kab_baseline.regions.row_kernel import RowKernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kab_baseline.regions.analysis import Analysis
    from kab_baseline.regions.body import Body

BLOCK = 1024
"""Elements of a block without rows: eight for each thread of four warps."""
WHOLE_ROW = 8192
"""Longest row that a block keeps in registers."""
ROW_BLOCK = 2048
"""Elements of a block of rows that are shorter, and of a piece of a row that is longer than a block."""
ACROSS = 64
"""Rows and columns of a block where neighbours in memory belong to different rows."""
ELEMENTS_PER_WARP = 512
MIN_WARPS, MAX_WARPS = 4, 16
LARGEST_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A program's block; numbers of elements are powers of two."""

    rows: int
    columns: int
    whole: bool
    """Whether the columns are all that there are."""

    @property
    def warps(self) -> int:
        """Warps of a program."""
        return min(MAX_WARPS, max(MIN_WARPS, self.rows * self.columns // ELEMENTS_PER_WARP))


def choose_tile(n_rows: int, n_columns: int, *, along_rows: bool) -> Tile:
    """Return the block of a region with reductions.

    Args:
        n_rows: results of the reduction.
        n_columns: elements that each of them is made of.
        along_rows: whether neighbours in memory belong to one row, so that a warp should read along it.
    """
    columns = power_of_two(n_columns)
    if not along_rows:
        rows = min(ACROSS, power_of_two(n_rows))
        columns = min(columns, ACROSS)
    elif columns <= WHOLE_ROW:
        rows = min(max(1, ROW_BLOCK // columns), power_of_two(n_rows))
    else:
        rows, columns = 1, WHOLE_ROW
    return Tile(rows=rows, columns=columns, whole=columns >= n_columns)


def write_rows(found: Analysis, body: Body, name: str) -> tuple[str, list[str], list[str]]:
    """Return the kernel of a region, the host function that lays out its tensors, and the lines of the one that runs it.

    Args:
        found: the analysed region.
        body: its formulas.
        name: of the kernel.
    """
    reduced = found.axes.reduced
    results = {value: f"out_{index}" for index, value in enumerate(found.outputs)}
    steps = _steps(found, body)
    order = sorted(found.axes.order, key=lambda axis: -steps.get(axis, 0))
    columns = [axis for axis in order if reduced is None or axis in reduced]
    rows = [axis for axis in order if axis not in columns]
    n_rows, n_columns = found.axes.size(tuple(rows)), found.axes.size(tuple(columns))
    in_rows = tuple(
        item.name for item in body.operands if reduced is not None and not item.axes & set(columns)
    )
    graph = trace(body.function(), tuple(item.name for item in body.operands))
    if any(getattr(node.target, "name", "") == "row_first" for node in graph.nodes):
        columns = [
            axis for axis in found.axes.order if axis in columns
        ]  # the first in the order of the module
    if reduced is None:
        tile = Tile(rows=1, columns=min(BLOCK, power_of_two(n_columns)), whole=False)
        n_programs = -(-n_columns // tile.columns)
    else:
        tile = choose_tile(n_rows, n_columns, along_rows=_along_rows(found, body, rows, columns))
        n_programs = -(-n_rows // tile.rows)
    kernel = RowKernel(
        name=name,
        graph=graph,
        results={
            results[value]: reduced is None or found.axes.is_element(found.axes.layouts[value])
            for value in found.outputs
        },
        elements=tuple(item.name for item in body.operands if item.name not in in_rows),
        rows=in_rows,
        reduces=reduced is not None,
        whole=tile.whole,
    )
    layout = _layout(found, body, kernel, rows, columns)
    given = list(dict.fromkeys(item.value for item in body.operands))
    values = {item.name: item.value for item in body.operands} | {out: out for out in results.values()}
    items = [values[item] for item in kernel.tensors]
    items.append("**layout")
    if reduced is not None:
        items.append(f"n_rows={n_rows}")
    items += [f"n_columns={n_columns}", f"INDEX={_index(found)}", f"COMPUTE={compute_name(found)}"]
    if reduced is not None:
        items.append(f"ROWS={tile.rows}")
    items += [f"COLUMNS={tile.columns}", f"num_warps={tile.warps}"]
    lines = [allocation(found, value, results[value]) for value in found.outputs]
    lines.append(wrap(f"layout = {name}_layout", [f"{item}.stride()" for item in given], ""))
    lines.append(wrap(f"{name}[({n_programs},)]", items, ""))
    return kernel.text(), layout, lines


def _layout(found: Analysis, body: Body, kernel: RowKernel, rows: list[int], columns: list[int]) -> list[str]:
    """Return the function that says how tensors with some strides lie on the loops."""
    operands = {item.name: item for item in body.operands}
    outs = {f"out_{index}": value for index, value in enumerate(found.outputs)}
    known: list[str] = []
    for name, part in kernel.dims():
        axes = rows if part == "rows" else columns
        if name in outs:
            dims = own_dims(found, outs[name], axes)
        else:
            dims = dims_text(found, operands[name], operands[name].value, axes)
        known.append(f'"{name}_{part}": {dims},')
    given = list(dict.fromkeys(item.value for item in body.operands))
    text = ["@functools.cache", wrap(f"def {kernel.name}_layout", given, ":")]
    text.append('    """How the tensors lie on the loops of the kernel, by their strides."""')
    return [*text, "    return {", *(f"        {line}" for line in known), "    }"]


def _steps(found: Analysis, body: Body) -> dict[int, int]:
    """Return how far apart neighbours along each axis lie in memory: in the first result, else the first operand."""
    steps: dict[int, int] = {}
    for item in reversed(body.operands):
        steps |= _memory_steps(found, item.value, item.strides)
    return steps | _memory_steps(found, found.outputs[0], own_strides(found, found.outputs[0]))


def _memory_steps(found: Analysis, value: str, moves: Sequence[tuple[int, int, int]]) -> dict[int, int]:
    facts = found.facts[value]
    assert facts is not None
    return {axis: facts.stride[dim] * count for axis, dim, count in moves}


def _along_rows(found: Analysis, body: Body, rows: list[int], columns: list[int]) -> bool:
    """Return whether the first operand that has both has its neighbours along the rows rather than across."""
    for item in body.operands:
        steps = _memory_steps(found, item.value, item.strides)
        across = [steps[axis] for axis in rows if axis in steps]
        along = [steps[axis] for axis in columns if axis in steps]
        if across and along:
            return min(along) <= min(across)
    return True


def _index(found: Analysis) -> str:
    """Return the type of offsets: 32 bits where every tensor's extent fits."""
    extents = [
        sum((size - 1) * step for size, step in zip(facts.shape, facts.stride, strict=True))
        for facts in found.facts.values()
        if facts is not None
    ]
    largest = max([*extents, found.axes.size(tuple(found.axes.order)) + BLOCK * ACROSS])
    return "tl.int32" if largest <= LARGEST_INT32 else "tl.int64"
