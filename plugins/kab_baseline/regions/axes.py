"""Axes: how the dimensions of a region's tensors lie on the loops of its kernel.

Every dimension is a product of axes, outermost first; a dimension of size one, or one that is broadcast, has none.
A view that splits a dimension splits an axis everywhere, one that merges dimensions joins their axes, and a
permutation reorders them. So all views inside a region become arithmetic on strides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

Dimension: TypeAlias = tuple[int, ...]
"""Axes of one dimension, outermost first."""
Layout: TypeAlias = tuple[Dimension, ...]
"""Axes of each dimension of a tensor."""


class Unfusable(Exception):
    """Some calls cannot be one kernel of this generator; the text says why."""


@dataclass(slots=True)
class Axes:
    """The axes of one region, and the layouts that lie on them."""

    sizes: dict[int, int] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    """The domain: all axes, outermost first; empty before the first computed value."""
    reduced: set[int] | None = None
    """Axes that reductions run over; None before the first reduction."""
    columns: set[int] | None = None
    """Axes of a product's columns; None where there is no product."""
    batch: set[int] = field(default_factory=set)
    """Axes of a product's batch."""
    layouts: dict[str, Layout] = field(default_factory=dict)
    """Layout of every computed value."""
    uses: dict[str, Layout] = field(default_factory=dict)
    """Layout that the operands of a node are aligned with, by node."""

    def begin(self, shape: tuple[int, ...]) -> Layout:
        """Make the domain from a shape; returns its layout."""
        return self._assign(shape, [])

    def beside(self, size: int) -> Dimension:
        """Return a dimension whose axis is none of the domain's."""
        return (self._new(size),) if size > 1 else ()

    def _new(self, size: int) -> int:
        name = len(self.sizes)
        self.sizes[name] = size
        return name

    def _assign(self, shape: tuple[int, ...], known: list[Dimension]) -> Layout:
        del known
        layout: list[Dimension] = []
        for size in shape:
            if size == 1:
                layout.append(())
            else:
                axis = self._new(size)
                self.order.append(axis)
                layout.append((axis,))
        return tuple(layout)

    def size(self, dimension: Dimension) -> int:
        """Return the number of elements along a dimension's axes."""
        return prod(self.sizes[axis] for axis in dimension)

    def split(self, axis: int, inner: int) -> tuple[int, int]:
        """Split an axis into an outer and an inner one of the given size, everywhere."""
        outer = self._new(self.sizes[axis] // inner)
        last = self._new(inner)
        pair = (outer, last)

        def replaced(layout: Layout) -> Layout:
            return tuple(
                tuple(new for old in dimension for new in (pair if old == axis else (old,)))
                for dimension in layout
            )

        if axis in self.order:
            place = self.order.index(axis)
            self.order[place : place + 1] = pair
        for group in (self.reduced, self.columns, self.batch):
            if group is not None and axis in group:
                group.discard(axis)
                group.update(pair)
        self.layouts = {name: replaced(layout) for name, layout in self.layouts.items()}
        self.uses = {name: replaced(layout) for name, layout in self.uses.items()}
        return pair

    def take(self, pool: list[int], size: int) -> Dimension:
        """Take axes from the front of a pool until they make up a size, splitting the last one if need be.

        Raises:
            Unfusable: they do not.
        """
        taken: list[int] = []
        rest = size
        while rest > 1:
            if not pool:
                raise Unfusable(f"a dimension of {size} elements does not lie on the region's loops")
            axis = pool.pop(0)
            have = self.sizes[axis]
            if rest % have == 0:
                taken.append(axis)
                rest //= have
            elif have % rest == 0:
                outer, inner = self.split(axis, have // rest)
                taken = [new for old in taken for new in ((outer, inner) if old == axis else (old,))]
                taken.append(outer)
                pool.insert(0, inner)
                rest = 1
            else:
                raise Unfusable(f"dimensions of {have} and {size} elements do not divide each other")
        return tuple(taken)

    def reshape(self, name: str, shape: tuple[int, ...]) -> Layout:
        """Return the layout of a value under another shape with the same elements.

        Raises:
            Unfusable: the value is broadcast along a dimension, or sizes do not divide.
        """
        pool = [axis for dimension in self.layouts[name] for axis in dimension]
        if prod(shape) != self.size(tuple(pool)):
            raise Unfusable("a broadcast value is reshaped")
        out: list[Dimension] = []
        for size in shape:
            known = [axis for dimension in out for axis in dimension]
            dimension = self.take(pool, size)
            # A split renames axes in layouts only; those taken before are not split any more.
            assert not set(known) & set(dimension)
            out.append(dimension)
        return tuple(out)

    def align(self, shape: tuple[int, ...], operands: list[tuple[Layout, tuple[int, ...]]]) -> Layout:
        """Return the layout of a broadcast result.

        Args:
            shape: the result's shape.
            operands: layout and shape of each operand that the region computes itself; others fit in anywhere.

        Raises:
            Unfusable: operands lie on different axes.
        """
        if not self.order:
            return self.begin(shape)
        rank = len(shape)
        out: list[Dimension | None] = [() if size == 1 else None for size in shape]
        for layout, own in operands:
            for place, dimension in enumerate(layout):
                target = rank - len(own) + place
                if own[place] == 1 or not dimension:
                    continue
                if out[target] not in {None, dimension}:
                    raise Unfusable("operands lie on different loops")
                out[target] = dimension
        used = {axis for dimension in out if dimension for axis in dimension}
        if len(used) != sum(len(dimension) for dimension in out if dimension):
            raise Unfusable("one loop is used for two dimensions")
        pool = [axis for axis in self.order if axis not in used]
        for place, size in enumerate(shape):
            if out[place] is None:
                out[place] = self.take(pool, size)
        return tuple(dimension or () for dimension in out)

    def is_element(self, layout: Layout) -> bool:
        """Return whether a layout has every axis of the domain."""
        return {axis for dimension in layout for axis in dimension} == set(self.order)

    def is_row(self, layout: Layout) -> bool:
        """Return whether a layout has exactly the axes that no reduction runs over."""
        rows = set(self.order) - (self.reduced or set())
        return self.reduced is not None and {axis for dimension in layout for axis in dimension} == rows
