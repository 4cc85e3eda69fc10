"""The text of a region's kernel: a block of elements, or of rows with a pass for each reduction that waits for another.

A row that fits into a block is read once and stays in registers; a longer one is read anew in each pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kab_baseline.expression import Expression, Writer
from kab_baseline.layout import indented, wrap
from kab_baseline.primitives import Primitive
from kab_baseline.row_schedule import Schedule, is_reduction, needed, schedule
from kab_baseline.rows import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import torch.fx

CONSTEXPRS = ("n_rows", "n_columns", "INDEX", "COMPUTE", "ROWS", "COLUMNS")
_LOOP = "for start in range(0, n_columns, COLUMNS):"
_MASK = "mask = row_mask & (column < n_columns)"


@dataclass(slots=True, kw_only=True)
class RowKernel:
    """The kernel of one region."""

    name: str
    graph: torch.fx.Graph
    """The body, traced; one placeholder for each operand, one output for each result."""
    results: Mapping[str, bool]
    """Whether each result has one value for each element; the others have one for each row."""
    elements: tuple[str, ...]
    """Operands with one value for each element."""
    rows: tuple[str, ...]
    """Operands with one value for each row."""
    reduces: bool
    whole: bool
    """Whether a block has whole rows."""
    plan: Schedule = field(init=False)
    _in_row: Writer = field(init=False)
    """What is known of each row."""
    _in_element: Writer = field(init=False)
    """What is known of each element; begun anew in every loop."""
    _written: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Schedule the body."""
        self.plan = schedule(self.graph, frozenset(self.elements))
        self._in_row = Writer(prefix="r")
        self._in_element = Writer()
        for node in self.graph.nodes:
            if node.op == "placeholder" and node not in self.plan.per_element:
                self._in_row.bind(node, str(node.target))

    @property
    def tensors(self) -> tuple[str, ...]:
        """Results and operands, in the order of the pointers."""
        return (*self.results, *self.elements, *self.rows)

    def dims(self) -> list[tuple[str, str]]:
        """Return the parameters that tell how a tensor lies on the loops, each as tensor and ``rows`` or ``columns``."""
        found = [(name, "rows") for name in self.tensors] if self.reduces else []
        per_element = [name for name, each in self.results.items() if each] + list(self.elements)
        return found + [(name, "columns") for name in per_element]

    def text(self) -> str:
        """Return the source."""
        arguments = [f"{name}_ptr" for name in self.tensors]
        arguments += [f"{name}_{part}: tl.constexpr" for name, part in self.dims()]
        arguments += [
            f"{name}: tl.constexpr" for name in CONSTEXPRS if self.reduces or "row" not in name.lower()
        ]
        lines = self._rows() if self.reduces else self._elements()
        return (
            "@triton.jit\n" + wrap(f"def {self.name}", arguments, ":") + "\n" + indented("\n".join(lines), 4)
        )

    # --- without reductions -----------------------------------------------------------------------------------

    def _elements(self) -> list[str]:
        values = self._values()
        return [
            "column = tl.program_id(0).to(INDEX) * COLUMNS + tl.arange(0, COLUMNS)[None, :]",
            "mask = column < n_columns",
            *self._row_nodes(0),
            *self._compute(values),
            *self._store(zip(self.results, values, strict=True)),
        ]

    def _values(self) -> list[torch.fx.Node]:
        output = next(node for node in self.graph.nodes if node.op == "output")
        return list(output.args[0])

    # --- with reductions --------------------------------------------------------------------------------------

    def _rows(self) -> list[str]:
        lines = [
            "row = tl.program_id(0).to(INDEX) * ROWS + tl.arange(0, ROWS)[:, None]",
            "row_mask = row < n_rows",
            *(f"{name}_row = {self._row_place(name)}" for name in self.elements),
            *(f"{name} = tl.load({self._row_place(name)}, mask=row_mask).to(COMPUTE)" for name in self.rows),
        ]
        if self.whole:
            lines += ["column = tl.arange(0, COLUMNS).to(INDEX)[None, :]", _MASK]
        for number in range(self.plan.n_passes):
            lines += self._row_nodes(number)
            lines += self._reduce(number)
        lines += self._row_nodes(self.plan.n_passes)
        pairs = list(zip(self.results, self._values(), strict=True))
        for name, value in pairs:
            if not self.results[name]:
                stored = f"{self._in_row.atom(value)}.to({name}_ptr.dtype.element_ty)"
                lines.append(f"tl.store({self._row_place(name)}, {stored}, mask=row_mask)")
        each = [(name, value) for name, value in pairs if self.results[name]]
        if each:
            lines += self._over_columns([value for _, value in each], lambda: self._store(each))
        return lines

    def _row_place(self, name: str) -> str:
        return f"{name}_ptr + element_offsets(row, {name}_rows)"

    def _row_nodes(self, number: int) -> list[str]:
        """Write what has one value for each row and needs only the passes before this one."""
        ready = [
            node
            for node, first in self.plan.first_pass.items()
            if node.op == "call_function"
            and node not in self.plan.per_element
            and node not in self._written
            and first <= number
            and not is_reduction(node)
        ]
        self._in_row.write(ready)
        self._written.update(ready)
        lines, self._in_row.lines = self._in_row.lines, []
        return lines

    def _reduce(self, number: int) -> list[str]:
        reductions = self.plan.reductions(number)
        names = {node: self._accumulator(node) for node in reductions}
        begin = [f"{names[node]} = {IDENTITY[_primitive(node).name]}" for node in reductions]

        def update() -> list[str]:
            lines = []
            for node in reductions:
                name = names[node]
                more = _primitive(node).spelling.format(self._in_element.atom(node.args[0]), acc=name)
                lines.append(f"{name} = tl.where(mask, {more}, {name})")
            return lines

        lines = begin + self._over_columns(reductions, update)
        for node in reductions:
            lines.append(f"{names[node]} = {_primitive(node).device_function}({names[node]})")
            self._in_row.values[node] = Expression(names[node])
        return lines

    def _accumulator(self, node: torch.fx.Node) -> str:
        """Name of a reduction: the primitive's, with a number where there are several of a kind."""
        alike = [item for item in self.graph.nodes if is_reduction(item) and item.target is node.target]
        name = _primitive(node).name
        return name if len(alike) == 1 else f"{name}_{alike.index(node)}"

    def _over_columns(self, targets: list[torch.fx.Node], then: Callable[[], list[str]]) -> list[str]:
        """Return the lines that compute per-element values and use them: once, or in a loop over the row."""
        if self.whole:
            return self._compute(targets) + then()
        self._in_element = Writer()
        lines = ["column = start + tl.arange(0, COLUMNS).to(INDEX)[None, :]", _MASK]
        lines += self._compute(targets) + then()
        return [_LOOP, *(f"    {line}" for line in lines)]

    # --- both -------------------------------------------------------------------------------------------------

    def _compute(self, targets: list[torch.fx.Node]) -> list[str]:
        """Write what per-element values need and is not there yet."""
        writer = self._in_element
        writer.values.update(self._in_row.values)
        nodes = needed(targets, self.plan)
        new = [node for node in self.graph.nodes if node in nodes and node not in writer.values]
        lines = []
        for node in new:
            if node.op == "placeholder":
                name = str(node.target)
                lines.append(f"{name} = tl.load({self._place(name)}, mask=mask).to(COMPUTE)")
                writer.bind(node, name)
        writer.write(node for node in new if node.op == "call_function")
        lines += writer.lines
        writer.lines = []
        return lines

    def _place(self, name: str) -> str:
        if not self.reduces:
            return f"{name}_ptr + element_offsets(column, {name}_columns)"
        start = f"{name}_row" if name in self.elements else self._row_place(name)
        return f"{start} + element_offsets(column, {name}_columns)"

    def _store(self, pairs: Iterable[tuple[str, torch.fx.Node]]) -> list[str]:
        return [
            wrap(
                "tl.store",
                [
                    self._place(name),
                    f"{self._in_element.atom(value)}.to({name}_ptr.dtype.element_ty)",
                    "mask=mask",
                ],
                "",
            )
            for name, value in pairs
        ]


def _primitive(node: torch.fx.Node) -> Primitive:
    assert isinstance(node.target, Primitive)
    return node.target
