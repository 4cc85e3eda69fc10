"""The body of a region: the formulas of its calls put together, over the primitives of the code generator."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kab_baseline import primitives as p
from kab_baseline.primitives import Primitive
from kagent_bench.model.program import GET_ITEM, NodeRef

if TYPE_CHECKING:
    import torch.fx

    from kab_baseline.regions.analysis import Analysis, Step
    from kab_baseline.regions.axes import Layout
    from kagent_bench.model.program import Node

SCALAR = Primitive("scalar", "tl.full((1, 1), {0}, COMPUTE)")
"""A number in the compute type."""
AS_COMPUTE = Primitive("as_compute", "{0}.to(COMPUTE)")
"""A truth value as a number."""
BITWISE = frozenset(
    ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "__and__", "__or__", "__xor__"]
)
_BITS = {
    "bitwise_and": operator.and_,
    "__and__": operator.and_,
    "bitwise_or": operator.or_,
    "__or__": operator.or_,
    "bitwise_xor": operator.xor,
    "__xor__": operator.xor,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """A tensor that the kernel reads, looked at in one way."""

    name: str
    """Name in the kernel."""
    value: str
    """Value of the program."""
    strides: tuple[tuple[int, int, int], ...]
    """For each axis that it moves along: the axis, the tensor's dimension, and how many of its steps one is."""
    is_truth: bool

    @property
    def axes(self) -> frozenset[int]:
        """Axes that it moves along."""
        return frozenset(axis for axis, _, _ in self.strides)


class Body:
    """A region's operands, and its formulas as a function of them."""

    def __init__(self, found: Analysis) -> None:
        """Find the operands of an analysed region."""
        self._found = found
        self._operands: dict[tuple[str, tuple[tuple[int, int, int], ...]], Operand] = {}
        self._of_use: dict[tuple[str, str], Operand] = {}
        for step in found.steps:
            for name in self._external(step.node):
                self._of_use[step.node.name, name] = self._operand(step.node.name, name)
        if found.product is not None and found.product.added is not None:
            node = next(
                step.node for step in found.steps if step.formula is None and _is_product(step, found)
            )
            self.added: Operand | None = self._added(node.name)
        else:
            self.added = None

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands, in order of first use."""
        return tuple(self._operands.values())

    def _external(self, node: Node) -> list[str]:
        """Return the values from outside that a computed call reads."""
        if node.operator == GET_ITEM or node.name not in self._found.axes.uses:
            return []
        product = self._found.product
        if product is not None and node.operator.split(".")[1] in _PRODUCTS and product.left in node.refs():
            return []
        return [name for name in dict.fromkeys(node.refs()) if name not in self._found.axes.layouts]

    def _operand(self, user: str, name: str) -> Operand:
        return self._place(name, strides_of(self._found, self._found.axes.uses[user], name))

    def _added(self, node: str) -> Operand:
        product = self._found.product
        assert product is not None
        assert product.added is not None
        layout = self._found.axes.uses[node]
        if product.added_dim is not None:
            layout = (layout[product.added_dim],)
        return self._place(product.added, strides_of(self._found, layout, product.added))

    def _place(self, name: str, strides: tuple[tuple[int, int, int], ...]) -> Operand:
        key = (name, strides)
        if key not in self._operands:
            number = sum(value == name for value, _ in self._operands)
            facts = self._found.facts[name]
            assert facts is not None
            self._operands[key] = Operand(
                name=name if not number else f"{name}_{number + 1}",
                value=name,
                strides=strides,
                is_truth=facts.dtype == "bool",
            )
        return self._operands[key]

    def function(self, product: Any = None) -> Any:
        """Return the body as a function of its operands, in order, for ``primitives.trace``."""

        def body(*proxies: Any) -> Any:
            tracer = proxies[0].tracer
            placed = dict(zip((item.name for item in self.operands), proxies, strict=False))
            made = _Maker(self, tracer, placed, proxies[len(self.operands) :])
            return tuple(made.results())

        del product
        return body


class _Maker:
    """Replays the calls of a region on proxies."""

    def __init__(self, body: Body, tracer: Any, placed: dict[str, Any], rest: tuple[Any, ...]) -> None:
        self._body = body
        self._found = body._found  # noqa: SLF001 - two halves of one thing
        self._tracer = tracer
        self._placed = placed
        self._rest = rest
        self._values: dict[str, tuple[Any, bool]] = {}

    def results(self) -> list[Any]:
        for step in self._found.steps:
            self._step(step)
        return [self._values[name][0] for name in self._found.outputs]

    def _step(self, step: Step) -> None:
        node, formula = step.node, step.formula
        if formula is None:
            self._pass_on(step)
            return
        base = node.operator.split(".")[1]
        given = []
        for name in formula.names:
            if name in formula.tensors:
                value, is_truth = self._read(node.name, formula.tensors[name])
                wants_truth = name in formula.unpromoted or (base in BITWISE and is_truth)
                given.append(self._as(value, is_truth=is_truth, wanted=wants_truth))
            else:
                given.append(self._scalar(formula.numbers[name]))
        made = _BITS.get(base, formula.body)(*given)
        if formula.rows is None:
            facts = node.results[0]
            assert facts is not None
            truth = facts.dtype == "bool"
            if truth and not (formula.is_truth and base not in {"where", "masked_fill", "clone"}):
                made = p.to_boolean(made)
            self._values[node.name] = (made, truth)
            return
        items = made if isinstance(made, tuple) else (made,)
        for index, item in enumerate(items):
            known = node.results[index]
            self._values[f"{node.name}.{index}"] = (item, known is not None and known.dtype == "bool")
        if len(items) == 1:
            self._values[node.name] = self._values[f"{node.name}.0"]

    def _pass_on(self, step: Step) -> None:
        node = step.node
        if node.operator == GET_ITEM:
            source, index = node.args
            assert isinstance(source, NodeRef)
            self._values[node.name] = self._values[f"{source.name}.{index}"]
            return
        if _is_product(step, self._found):
            self._values[node.name] = (self._product(), False)
            return
        source = node.args[0]
        assert isinstance(source, NodeRef)
        value, is_truth = self._read(node.name, source.name)
        facts = node.results[0]
        wanted = facts is not None and facts.dtype == "bool"
        self._values[node.name] = (self._as(value, is_truth=is_truth, wanted=wanted), wanted)

    def _product(self) -> Any:
        contraction = self._found.product
        assert contraction is not None
        value = self._rest[0]
        if contraction.alpha != 1:
            value = self._scalar(contraction.alpha) * value
        if self._body.added is None or contraction.beta == 0:
            return value
        added = self._placed[self._body.added.name]
        return value + (added if contraction.beta == 1 else self._scalar(contraction.beta) * added)

    def _read(self, user: str, name: str) -> tuple[Any, bool]:
        if name in self._values:
            return self._values[name]
        operand = self._body._of_use[user, name]  # noqa: SLF001 - as above
        value = self._placed[operand.name]
        return (p.to_boolean(value), True) if operand.is_truth else (value, False)

    def _as(self, value: Any, *, is_truth: bool, wanted: bool) -> Any:
        if is_truth == wanted:
            return value
        return p.to_boolean(value) if wanted else AS_COMPUTE(value)

    def _scalar(self, value: float) -> Any:
        number = float(value)
        return self._tracer.create_proxy("call_function", SCALAR, (number,), {})


_PRODUCTS = frozenset(["mm", "bmm", "addmm", "baddbmm", "convolution"])


def _is_product(step: Step, found: Analysis) -> bool:
    return (
        found.product is not None
        and step.formula is None
        and step.node.operator != GET_ITEM
        and step.node.operator.split(".")[1] in _PRODUCTS
    )


def strides_of(found: Analysis, layout: Layout, name: str) -> tuple[tuple[int, int, int], ...]:
    """Return how a value moves along the axes when it is broadcast to a layout from the right."""
    facts = found.facts[name]
    assert facts is not None
    missing = len(layout) - len(facts.shape)
    moves = []
    for dim, size in enumerate(facts.shape):
        if size == 1:
            continue
        steps = 1
        for axis in reversed(layout[missing + dim]):
            moves.append((axis, dim, steps))
            steps *= found.axes.sizes[axis]
    return tuple(sorted(moves))


def graph_of(body: Any, names: tuple[str, ...]) -> torch.fx.Graph:
    """Return the traced graph of a body."""
    return p.trace(body, names)
