"""Attention as one kernel: a product, formulas on its scores, their softmax, and a product of the weights.

The scores are a region of their own (``analyse``), whose layouts carry on: what looks at the weights before the second
product and at the result after it moves axes, and so does what lies between an argument and the product that reads it.
Copies there cost nothing, as the kernel reads and writes by strides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kab_baseline.regions.analysis import FLOATS, SAME, VIEWS, analyse, pulled_back, pushed_on
from kab_baseline.regions.axes import Unfusable
from kab_baseline.regions.body import Operand, strides_of
from kagent_bench.model.program import GET_ITEM, Input, Node, NodeRef, Program

if TYPE_CHECKING:
    from kab_baseline.regions.analysis import Analysis
    from kab_baseline.regions.axes import Dimension

SOFTMAX = "aten._softmax.default"
PRODUCTS = frozenset(["aten.mm.default", "aten.bmm.default"])
LARGEST_HEAD = 256
"""Elements of a query's or a value's row; longer ones do not fit into the registers beside the scores."""
_QUERY, _KEY, _VALUE, _INNER, _DEPTH = ".query", ".key", ".value", ".inner", ".depth"
"""What layouts are kept under that belong to no value; no value has such a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """A region that is attention."""

    scores: Analysis
    """How the scores are computed; its facts are those of the whole, its only output the scores."""
    query: Operand
    key: Operand
    value: Operand
    inner: Dimension
    """Axes of what the first product sums over."""
    depth: Dimension
    """Axes of the rows of values and results."""
    result: str
    """The value that is returned."""
    is_safe: bool
    """Whether a row of scores that are all minus infinity gives zeros, not NaN."""


def moves_only(node: Node) -> bool:
    """Return whether a call only looks at its argument in another way, or copies it."""
    return node.operator != GET_ITEM and node.operator.split(".")[1] in VIEWS | SAME


def zeroing(program: Program, softmax: Node) -> tuple[Node, ...]:
    """Return the calls that make rows of a softmax zero whose scores are all minus infinity; none if there are none."""
    nodes = {node.name: node for node in program.nodes}
    fill = next((node for node in program.nodes if softmax.name in node.refs()), softmax)
    if fill.operator != "aten.masked_fill.Scalar" or source_of(fill) != softmax.name or fill.args[2] != 0:
        return ()
    test = nodes.get(_name(fill.args[1]))
    if test is None or test.operator != "aten.eq.Scalar" or test.args[1] != -float("inf"):
        return ()
    largest = nodes.get(source_of(test))
    if largest is None or largest.operator != "aten.amax.default" or largest.args[0] != softmax.args[0]:
        return ()
    return (largest, test, fill) if largest.args[1:] == ((softmax.args[1],), True) else ()


def scores_of(program: Program, first: str, softmax: Node) -> list[Node]:
    """Return a product and the calls that make a softmax's argument of it, in order."""
    made = {first}
    for node in program.nodes:
        if made & set(node.refs()):
            made.add(node.name)
    wanted = {source_of(softmax)}
    calls = []
    for node in reversed(program.nodes):
        if node.name in wanted & made:
            calls.append(node)
            wanted |= set(node.refs())
    return calls[::-1]


def find_attention(program: Program) -> Attention | None:
    """Return how one kernel computes a program that is attention, None if it is none.

    Raises:
        Unfusable: it is, but no kernel here can do it.
    """
    products = [node for node in program.nodes if node.operator in PRODUCTS]
    softmaxes = [node for node in program.nodes if node.operator == SOFTMAX]
    if len(products) != 2 or len(softmaxes) != 1:  # noqa: PLR2004 - the scores, and the result
        return None
    return _Finder(program, products[0], softmaxes[0], products[1]).run()


class _Finder:
    def __init__(self, program: Program, first: Node, softmax: Node, second: Node) -> None:
        self._program = program
        self._facts = program.facts()
        self._nodes = {node.name: node for node in program.nodes}
        self._first, self._softmax, self._second = first, softmax, second

    def run(self) -> Attention:
        first, softmax, second = self._first, self._softmax, self._second
        if not isinstance(self._program.output, NodeRef):
            raise Unfusable("something of an attention is used outside of it")
        result = self._program.output.name
        zeroed = zeroing(self._program, softmax)
        weights = zeroed[-1].name if zeroed else softmax.name
        middle = self._chain(weights, source_of(second))
        after = self._chain(second.name, result)
        scores = scores_of(self._program, first.name, softmax)
        known = {node.name for node in (*scores, *zeroed, *middle, *after, softmax, second)}
        for node in self._program.nodes:
            if node.name not in known and not moves_only(node):
                raise Unfusable(f"{node.operator} is no part of an attention")
        found = analyse(self._scores_program(scores))
        found.program, found.facts = self._program, self._facts
        axes = found.axes
        layout = axes.layouts[source_of(softmax)]
        _, dim, is_converted = softmax.args
        if not isinstance(dim, int) or is_converted or set(layout[dim]) != axes.columns:
            raise Unfusable("the softmax runs over something else than the keys")
        axes.layouts[weights] = layout
        axes.layouts[_INNER] = (axes.beside(self._width(source_of(first))),)
        axes.layouts[_DEPTH] = (axes.beside(self._width(second.name)),)
        for node in middle:
            axes.layouts[node.name] = pushed_on(axes, node)
        made = axes.layouts[source_of(second)]
        axes.layouts[second.name] = (*made[:-1], axes.layouts[_DEPTH][0])
        axes.layouts[_VALUE] = (*made[:-2], made[-1], axes.layouts[_DEPTH][0])
        asked = axes.layouts[first.name]
        axes.layouts[_QUERY] = (*asked[:-1], axes.layouts[_INNER][0])
        axes.layouts[_KEY] = (*asked[:-2], axes.layouts[_INNER][0], asked[-1])
        for node in after:
            axes.layouts[node.name] = pushed_on(axes, node)
        names = {
            _QUERY: self._pulled(found, _QUERY, source_of(first)),
            _KEY: self._pulled(found, _KEY, _name(first.args[1])),
            _VALUE: self._pulled(found, _VALUE, _name(second.args[1])),
        }
        self._check(found, names)
        query, key, value = (
            Operand(
                name=role[1:],
                value=name,
                strides=strides_of(found, axes.layouts[role], name),
                is_truth=False,
            )
            for role, name in names.items()
        )
        return Attention(
            scores=found,
            query=query,
            key=key,
            value=value,
            inner=axes.layouts[_INNER][0],
            depth=axes.layouts[_DEPTH][0],
            result=result,
            is_safe=bool(zeroed),
        )

    def _check(self, found: Analysis, names: dict[str, str]) -> None:
        axes = found.axes
        made = axes.layouts[source_of(self._second)]
        rows = set(axes.order) - (axes.columns or set())
        if set(made[-1]) != axes.columns or {axis for dim in made[:-1] for axis in dim} != rows:
            raise Unfusable("the second product sums over something else than the keys")
        if not {axis for dim in made[:-2] for axis in dim} <= axes.batch:
            raise Unfusable("values differ from query to query")
        if len({self._dtype(name) for name in names.values()}) > 1:
            raise Unfusable("queries, keys and values of different data types")
        if max(self._width(source_of(self._first)), self._width(self._second.name)) > LARGEST_HEAD:
            raise Unfusable(f"heads of more than {LARGEST_HEAD} elements")

    def _chain(self, start: str, end: str) -> list[Node]:
        """Return the calls that lead from a value to another, which only move it."""
        calls: list[Node] = []
        while end != start:
            node = self._nodes.get(end)
            if node is None or not moves_only(node):
                raise Unfusable("something lies between an attention's products that is no softmax")
            calls.append(node)
            end = source_of(node)
        return calls[::-1]

    def _scores_program(self, calls: list[Node]) -> Program:
        inside = {node.name for node in calls}
        outside = dict.fromkeys(name for node in calls for name in node.refs() if name not in inside)
        return Program(
            inputs=tuple(Input(name=name, facts=self._facts[name]) for name in outside),
            state=(),
            constants=(),
            nodes=tuple(calls),
            output=NodeRef(name=source_of(self._softmax)),
        )

    def _pulled(self, found: Analysis, role: str, name: str) -> str:
        """Go back from a product's operand to the argument that it is made of; returns that one's name."""
        while (node := self._nodes.get(name)) is not None:
            source = source_of(node)
            if self._dtype(source) != self._dtype(name):
                raise Unfusable("an operand is converted")
            layout = pulled_back(found.axes, role, node, self._facts)
            found.axes.layouts[role] = layout  # of a new dictionary, if an axis was split
            name = source
        return name

    def _dtype(self, name: str) -> str:
        known = self._facts[name]
        if known is None or known.dtype not in FLOATS:
            raise Unfusable(f"{name} is no tensor of numbers")
        return known.dtype

    def _width(self, name: str) -> int:
        return _shape(self._program, name)[-1]


def source_of(node: Node) -> str:
    """Return the name of a call's first argument; the empty one if it is no tensor."""
    return _name(node.args[0])


def _name(value: object) -> str:
    return value.name if isinstance(value, NodeRef) else ""


def _shape(program: Program, name: str) -> tuple[int, ...]:
    known = program.facts().get(name)
    return () if known is None else known.shape
