"""Host texts that all frames of regions share: allocation, shapes, strides, the compute type."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from kab_baseline.regions.body import Operand

if TYPE_CHECKING:
    from kab_baseline.regions.analysis import Analysis
    from kagent_bench.model.program import TensorFacts


def compute_name(found: Analysis) -> str:
    """Return Triton's name of the type that a region computes in: float64 if any tensor is, else float32."""
    dtypes = {facts.dtype for facts in found.facts.values() if facts is not None}
    return "tl.float64" if "float64" in dtypes else "tl.float32"


def allocation(found: Analysis, value: str, out: str) -> str:
    """Return the line that allocates a result, with the strides that the module's own value has."""
    facts = found.facts[value]
    assert facts is not None
    first = (*found.program.inputs, *found.program.state)[0].name
    place = f"dtype=torch.{facts.dtype}, device={first}.device"
    if is_contiguous(facts) or not is_dense(facts):
        return f"{out} = torch.empty({facts.shape}, {place})"
    return f"{out} = torch.empty_strided({facts.shape}, {facts.stride}, {place})"


def is_contiguous(facts: TensorFacts) -> bool:
    """Return whether a tensor is in row-major order without gaps."""
    step = 1
    for size, stride in zip(reversed(facts.shape), reversed(facts.stride), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def is_dense(facts: TensorFacts) -> bool:
    """Return whether the elements fill their memory without gaps and without overlap."""
    step = 1
    for stride, size in sorted(zip(facts.stride, facts.shape, strict=True)):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def shape_text(found: Analysis, axes: list[int]) -> str:
    """Return the sizes of some axes as a tuple's source."""
    return _tuple([str(found.axes.sizes[axis]) for axis in axes])


def strides_text(found: Analysis, what: Operand | str, name: str, axes: list[int]) -> str:
    """Return how a tensor moves along some axes, as a tuple's source.

    Args:
        found: the analysed region.
        what: an operand, or the name of a returned value.
        name: the tensor's name in the host function.
        axes: the axes, outermost first.
    """
    moves = {
        axis: (dim, steps)
        for axis, dim, steps in (what.strides if isinstance(what, Operand) else own_strides(found, what))
    }
    items = []
    for axis in axes:
        if axis not in moves:
            items.append("0")
            continue
        dim, steps = moves[axis]
        items.append(f"{name}.stride({dim})" + (f" * {steps}" if steps != 1 else ""))
    return _tuple(items)


def own_strides(found: Analysis, value: str) -> list[tuple[int, int, int]]:
    """Return how a returned value moves along the axes, as ``Operand.strides`` does."""
    layout = found.axes.layouts[value]
    moves = []
    for dim, dimension in enumerate(layout):
        for place, axis in enumerate(dimension):
            moves.append((axis, dim, prod(found.axes.sizes[item] for item in dimension[place + 1 :])))
    return moves


def dims_text(found: Analysis, item: Operand, strides: str, axes: list[int]) -> str:
    """Return how an operand lies along some axes, as the source of pairs of size and step.

    Args:
        found: the analysed region.
        item: the operand.
        strides: name of the tensor's strides.
        axes: the axes, outermost first.
    """
    moves = {axis: (dim, steps) for axis, dim, steps in item.strides}
    texts = []
    for axis in axes:
        dim, steps = moves.get(axis, (0, 0))
        step = f"{strides}[{dim}]" + (f" * {steps}" if steps != 1 else "") if steps else "0"
        texts.append(f"({found.axes.sizes[axis]}, {step})")
    return f"merged({', '.join(texts)})"


def own_dims(found: Analysis, value: str, axes: list[int]) -> str:
    """Return how a result lies along some axes, with the strides that ``allocation`` gives it."""
    facts = found.facts[value]
    assert facts is not None
    strides = facts.stride if is_dense(facts) else contiguous(facts.shape)
    moves = {axis: strides[dim] * steps for axis, dim, steps in own_strides(found, value)}
    dims: list[tuple[int, int]] = []
    for axis in axes:
        size, step = found.axes.sizes[axis], moves.get(axis, 0)
        if dims and dims[-1][1] == size * step:
            dims[-1] = (dims[-1][0] * size, step)
        else:
            dims.append((size, step))
    return repr(tuple(dims))


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a tensor in row-major order."""
    return tuple(prod(shape[place + 1 :]) for place in range(len(shape)))


def power_of_two(number: int) -> int:
    """Return the smallest power of two that is not less."""
    return 1 << max(0, number - 1).bit_length()


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
