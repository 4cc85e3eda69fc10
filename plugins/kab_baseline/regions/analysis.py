"""What one kernel would do for a region: the loops, the layout of every value, the product if there is one.

The walk over the calls either ends with all of this or says why the region cannot be one kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from kab_baseline.regions.axes import Axes, Layout, Unfusable
from kab_baseline.regions.formulas import Formula, find_formula
from kab_baseline.regions.products import Contraction, find_contraction
from kagent_bench.model.program import GET_ITEM, NodeRef, references

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.model.program import Node, Program, TensorFacts

RESHAPES = frozenset(["view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "flatten", "unflatten"])
PERMUTATIONS = frozenset(["permute", "transpose", "t"])
VIEWS = RESHAPES | PERMUTATIONS | {"expand"}
SAME = frozenset(
    ["clone", "contiguous", "alias", "detach", "lift_fresh_copy", "_to_copy", "convert_element_type", "to"]
)
"""Calls whose elements are those of their argument, perhaps in another data type."""
FLOATS = frozenset(["float16", "bfloat16", "float32", "float64"])
MAX_OPERANDS = 24
"""Tensors of one kernel; more pointers than this leave few registers for anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call and what it is to the kernel."""

    node: Node
    formula: Formula | None = None
    """A computation; None for a view, a copy, the taking of a result, or the product."""


@dataclass(slots=True, kw_only=True)
class Analysis:
    """A region as one kernel."""

    program: Program
    facts: Mapping[str, TensorFacts | None]
    axes: Axes = field(default_factory=Axes)
    steps: list[Step] = field(default_factory=list)
    product: Contraction | None = None
    parts: dict[str, tuple[tuple[Layout, TensorFacts], ...]] = field(default_factory=dict)
    """Results of a call with several."""
    outputs: tuple[str, ...] = ()
    """Values that are returned, each once."""


def analyse(program: Program) -> Analysis:
    """Return how one kernel computes a program.

    Raises:
        Unfusable: it cannot.
    """
    if program.constants or program.writes:
        raise Unfusable("it holds tensors of its own or writes its arguments")
    found = Analysis(program=program, facts=program.facts())
    walk = _Walk(found)
    for node in program.nodes:
        walk.step(node)
    found.outputs = tuple(dict.fromkeys(references(program.output)))
    for name in found.outputs:
        if name not in found.axes.layouts:
            raise Unfusable(f"{name} is returned as it came")
        layout = found.axes.layouts[name]
        if not (found.axes.is_element(layout) or found.axes.is_row(layout)):
            raise Unfusable(f"{name} has neither the full shape nor that of the rows")
        if _is_broadcast(found, name):
            raise Unfusable(f"{name} is broadcast")
    if not any(step.formula for step in found.steps) and found.product is None:
        raise Unfusable("nothing is computed")
    if len(program.inputs) + len(program.state) + len(found.outputs) > MAX_OPERANDS:
        raise Unfusable(f"more than {MAX_OPERANDS} tensors")
    return found


def _is_broadcast(found: Analysis, name: str) -> bool:
    known = found.facts[name]
    return known is not None and prod(known.shape) != found.axes.size(
        tuple(axis for dimension in found.axes.layouts[name] for axis in dimension)
    )


class _Walk:
    def __init__(self, found: Analysis) -> None:
        self._found = found
        self._axes = found.axes

    def step(self, node: Node) -> None:
        base = node.operator if node.operator == GET_ITEM else node.operator.split(".")[1]
        if any(item is None for item in node.results) and base != GET_ITEM:
            raise Unfusable(f"{node.operator} returns what is no tensor")
        if base == GET_ITEM:
            self._take(node)
        elif base in VIEWS:
            self._view(node)
        elif base in SAME:
            self._same(node)
        else:
            self._compute(node)

    def _facts(self, name: str) -> TensorFacts:
        known = self._found.facts.get(name)
        if known is None:
            raise Unfusable(f"{name} is no tensor")
        return known

    def _take(self, node: Node) -> None:
        source, index = node.args
        assert isinstance(source, NodeRef)
        parts = self._found.parts.get(source.name)
        if parts is None or not isinstance(index, int):
            raise Unfusable("a result is taken of what the region does not compute")
        self._axes.layouts[node.name] = self._axes.layouts[f"{source.name}.{index}"]
        self._found.steps.append(Step(node=node))

    def _view(self, node: Node) -> None:
        source = node.args[0]
        assert isinstance(source, NodeRef)
        if source.name not in self._axes.layouts:
            raise Unfusable("an argument is only looked at in another way")
        self._axes.layouts[node.name] = pushed_on(self._axes, node)
        self._found.steps.append(Step(node=node))

    def _same(self, node: Node) -> None:
        source = node.args[0]
        assert isinstance(source, NodeRef)
        result = self._result(node)
        own = self._facts(source.name)
        if result.dtype not in FLOATS | {"bool"} or own.dtype not in FLOATS | {"bool"}:
            raise Unfusable(f"converts {own.dtype} to {result.dtype}")
        if result.dtype == "bool" and own.dtype != "bool":
            raise Unfusable("converts to bool")
        if source.name in self._axes.layouts:
            self._axes.layouts[node.name] = self._axes.layouts[source.name]
        else:
            layout = self._axes.align(result.shape, [])
            self._axes.layouts[node.name] = layout
            self._axes.uses[node.name] = layout
        self._found.steps.append(Step(node=node))

    def _compute(self, node: Node) -> None:
        contraction = find_contraction(node, self._found.facts)
        if contraction is not None:
            self._product(node, contraction)
            return
        formula = find_formula(node, self._found.facts)
        if formula is None:
            raise Unfusable(f"there is no formula for {node.operator}")
        for name in formula.tensors.values():
            if self._facts(name).dtype not in FLOATS | {"bool"}:
                raise Unfusable(f"{name} is {self._facts(name).dtype}")
        if formula.rows is None:
            self._pointwise(node, formula)
        else:
            self._rows(node, formula)
        self._found.steps.append(Step(node=node, formula=formula))

    def _pointwise(self, node: Node, formula: Formula) -> None:
        result = self._result(node)
        if result.dtype not in FLOATS | {"bool"}:
            raise Unfusable(f"{node.name} is {result.dtype}")
        layout = self._axes.align(result.shape, self._inner(formula.tensors.values()))
        self._axes.layouts[node.name] = layout
        self._axes.uses[node.name] = layout

    def _inner(self, names: object) -> list[tuple[Layout, tuple[int, ...]]]:
        return [
            (self._axes.layouts[name], self._facts(name).shape)
            for name in names  # type: ignore[attr-defined]
            if name in self._axes.layouts
        ]

    def _rows(self, node: Node, formula: Formula) -> None:
        assert formula.rows is not None
        if self._found.product is not None:
            raise Unfusable("a reduction after a product")
        source = formula.tensors[formula.first]
        shape = self._facts(source).shape
        inner = self._inner([source])
        layout = inner[0][0] if inner else self._axes.align(shape, [])
        if inner and _virtual(layout, shape):
            raise Unfusable("a broadcast value is reduced")
        if not self._axes.is_element(layout):
            raise Unfusable("what is reduced has not the full shape")
        if not formula.dims and layout:
            raise Unfusable("nothing is reduced")
        reduced = {axis for dim in formula.dims for axis in layout[dim]} if layout else set()
        if self._axes.reduced is None:
            self._axes.reduced = reduced
        elif self._axes.reduced != reduced:
            raise Unfusable("reductions over different dimensions")
        self._axes.uses[node.name] = layout
        kept = tuple(() if place in formula.dims else item for place, item in enumerate(layout))
        dropped = tuple(item for place, item in enumerate(layout) if place not in formula.dims)
        layouts = []
        for index, (result, facts) in enumerate(zip(formula.rows.results, node.results, strict=True)):
            assert facts is not None
            rows = kept if len(facts.shape) == len(shape) else dropped
            made = layout if result.per_element else rows
            self._axes.layouts[f"{node.name}.{index}"] = made
            layouts.append((made, facts))
        if len(layouts) == 1:
            self._axes.layouts[node.name] = layouts[0][0]
        else:
            self._found.parts[node.name] = tuple(layouts)

    def _product(self, node: Node, contraction: Contraction) -> None:
        if self._found.product is not None or self._axes.order:
            raise Unfusable("a product after something else")
        result = self._result(node)
        for name in contraction.operands:
            if name in self._axes.layouts:
                raise Unfusable("a product of what the region computes")
        layout = self._axes.begin(result.shape)
        self._axes.columns = set(layout[contraction.column_dim])
        self._axes.batch = set(layout[contraction.batch_dim]) if contraction.batch_dim is not None else set()
        self._axes.layouts[node.name] = layout
        self._axes.uses[node.name] = layout
        self._found.product = contraction
        self._found.steps.append(Step(node=node))

    def _result(self, node: Node) -> TensorFacts:
        (result,) = node.results
        assert result is not None
        return result


def pushed_on(axes: Axes, node: Node) -> Layout:
    """Return the layout of a view or copy of a value that has one.

    Raises:
        Unfusable: its dimensions do not lie on the value's axes.
    """
    source, made = node.args[0], node.results[0]
    assert isinstance(source, NodeRef)
    assert made is not None
    base, layout = node.operator.split(".")[1], axes.layouts[source.name]
    if base in RESHAPES:
        return axes.reshape(source.name, made.shape)
    if base == "expand":
        return ((),) * (len(made.shape) - len(layout)) + layout
    if base in PERMUTATIONS:
        return tuple(layout[place] for place in _order(node, base, len(layout)))
    return layout


def pulled_back(axes: Axes, key: str, node: Node, facts: Mapping[str, TensorFacts | None]) -> Layout:
    """Return the layout of what a view or copy looks at, such that the view has a given one.

    Args:
        axes: the axes.
        key: what the view's layout is kept under.
        node: the view.
        facts: of all values.

    Raises:
        Unfusable: there is none.
    """
    source = node.args[0]
    assert isinstance(source, NodeRef)
    known = facts[source.name]
    assert known is not None
    base, layout = node.operator.split(".")[1], axes.layouts[key]
    if base in RESHAPES:
        return axes.reshape(key, known.shape)
    if base == "expand":
        own = layout[len(layout) - len(known.shape) :]
        return tuple(() if size == 1 else item for size, item in zip(known.shape, own, strict=True))
    if base in PERMUTATIONS:
        order = _order(node, base, len(layout))
        return tuple(layout[order.index(place)] for place in range(len(layout)))
    return layout


def _virtual(layout: Layout, shape: tuple[int, ...]) -> bool:
    return any(size > 1 and not dimension for size, dimension in zip(shape, layout, strict=True))


def _order(node: Node, base: str, rank: int) -> list[int]:
    order = list(range(rank))
    if base == "permute":
        dims = node.args[1]
        assert isinstance(dims, tuple)
        return [int(dim) % rank for dim in dims]  # type: ignore[arg-type]
    if base == "t":
        return order[::-1]
    first, second = (int(value) % rank for value in node.args[1:3])  # type: ignore[arg-type]
    order[first], order[second] = order[second], order[first]
    return order
