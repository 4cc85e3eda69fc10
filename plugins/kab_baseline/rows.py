"""The row frame: one program for each block of rows, one loop over the columns for each pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kab_baseline.assembly import assemble
from kab_baseline.expression import Expression, Writer
from kab_baseline.layout import indented, wrap
from kab_baseline.primitives import Primitive, row_first, trace
from kab_baseline.row_schedule import Schedule, is_reduction, needed, schedule
from kab_baseline.signature import Signature, Writes

if TYPE_CHECKING:
    import torch.fx

    from kab_baseline.definition import RowResult, Rows, Variant

TILE = 4096
"""Most elements of a program's block."""
COUNT = "count"
"""Name under which a formula gets the number of elements in a row."""

IDENTITY = {
    "row_sum": "tl.zeros((ROWS, COLUMNS), COMPUTE)",
    "row_product": "tl.full((ROWS, COLUMNS), 1, COMPUTE)",
    "row_max": "lowest(COMPUTE) + tl.zeros((ROWS, COLUMNS), COMPUTE)",
    "row_min": "highest(COMPUTE) + tl.zeros((ROWS, COLUMNS), COMPUTE)",
    "row_count": "tl.zeros((ROWS, COLUMNS), tl.int64)",
    "row_first": "n_columns + tl.zeros((ROWS, COLUMNS), tl.int64)",
}
_LOOP = "for start in range(0, n_columns, COLUMNS):"


def supports(definition: Rows, signature: Signature) -> bool:
    """Whether the overload writes as many results as the definition has, and not into its input."""
    if signature.writes is Writes.SELF or signature.n_results != len(definition.results):
        return False
    return signature.writes is Writes.NEW or len(signature.outs) == len(definition.results)


def write(definition: Rows, signature: Signature) -> str:
    """Return the kernel file of an overload."""
    kernels, body = parts(definition, signature)
    return assemble(signature, definition.summary, kernels, body, constants={"TILE": TILE})


def parts(definition: Rows, signature: Signature) -> tuple[list[str], str]:
    """Return the kernels of an overload and the body of its host function."""
    kernels = []
    body = "".join(f"{line}\n" for line in definition.prepare)
    body += _common_lines(definition, signature)
    for position, variant in enumerate(definition.variants):
        suffix = f"_{variant.name}" if variant.name else ""
        kernel = RowKernel(definition, variant, f"{signature.operator.base.strip('_')}{suffix}_kernel")
        kernels.append(kernel.text())
        launch = kernel.launch(signature)
        if len(definition.variants) == 1:
            body += launch + "\n"
        else:
            head = f"{'if' if position == 0 else 'elif'} {variant.when}:" if variant.when else "else:"
            body += f"{head}\n{indented(launch, 4)}\n"
    names = [_out_name(item, signature, place) for place, item in enumerate(definition.results)]
    body += f"return {definition.returns or ', '.join(names)}"
    return kernels, body


def _out_name(result: RowResult, signature: Signature, place: int) -> str:
    return signature.outs[place].name if signature.outs else result.name


def _common_lines(definition: Rows, signature: Signature) -> str:
    first = definition.operands[0]
    lines = [
        f"shape = {definition.shape}",
        f"dims = {definition.dims}",
        f"dtype = {definition.dtype}",
        "compute = compute_dtype(dtype)",
    ]
    for place, result in enumerate(definition.results):
        size = "shape" if result.per_element else f"reduced_shape(shape, dims, {definition.keepdim})"
        name = _out_name(result, signature, place)
        if signature.outs:
            lines += [
                f"size = {size}",
                f"resize_result({name}, size, contiguous_strides(size, range(len(size) - 1, -1, -1)))",
            ]
        else:
            lines.append(f"{name} = torch.empty({size}, dtype={result.dtype}, device={first}.device)")
    lines.append("n_rows, row_shape, n_columns, column_shape = row_shapes(shape, dims)")
    lines.append(f"block_rows, block_columns = tile(n_rows, n_columns, {definition.largest_columns})")
    return "\n".join(lines) + "\n"


class RowKernel:
    """One variant of one overload: its graph, its schedule and the two texts."""

    def __init__(self, definition: Rows, variant: Variant, name: str) -> None:
        """Trace and schedule a formula.

        Args:
            definition: what the formula belongs to.
            variant: the formula.
            name: of the kernel.
        """
        self.definition = definition
        names = variant.operand_names()
        self.operands = [name for name in names if name in definition.operands]
        self.numbers = [name for name in names if name not in definition.operands and name != COUNT]
        self.uses_count = COUNT in names
        self.graph = trace(variant.body, names)
        self.plan: Schedule = schedule(self.graph, frozenset(self.operands))
        self.name = name
        output = next(node for node in self.graph.nodes if node.op == "output")
        self.values: list[torch.fx.Node] = list(output.args[0])

    def text(self) -> str:
        """Return the source of the kernel."""
        writer = Writer(prefix="r")
        for node in self.graph.nodes:
            if node.op == "placeholder" and node not in self.plan.per_element:
                writer.bind(node, node.target)
        lines = [
            "row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]",
            "row_mask = row < n_rows",
            *(
                f"{name}_row = {name}_ptr + offsets(row, row_shape, {name}_row_strides)"
                for name in self.operands
            ),
            *(f"{name} = number({name}_bits, COMPUTE)" for name in self.numbers),
        ]
        if self.uses_count:
            lines.append("count = tl.full((1, 1), n_columns, tl.int64).to(COMPUTE)")
        written: set[torch.fx.Node] = set()
        for number in range(self.plan.n_passes):
            self._write_row_nodes(writer, written, number)
            lines += writer.lines
            writer.lines.clear()
            lines += self._reducing_pass(writer, number)
        self._write_row_nodes(writer, written, self.plan.n_passes)
        lines += writer.lines
        lines += self._stores(writer)
        return (
            "@triton.jit\n"
            + wrap(f"def {self.name}", self._arguments(), ":")
            + "\n"
            + indented("\n".join(lines), 4)
        )

    def _arguments(self) -> list[str]:
        per_element = [item.name for item in self.definition.results if item.per_element]
        arguments = [f"{item.name}_ptr" for item in self.definition.results]
        arguments += [f"{name}_ptr" for name in self.operands]
        arguments += [f"{name}_bits" for name in self.numbers]
        arguments += ["n_rows", "n_columns", "row_shape"]
        arguments += [f"{item.name}_row_strides" for item in self.definition.results]
        arguments += [f"{name}_row_strides" for name in self.operands]
        arguments += ["column_shape"]
        arguments += [f"{name}_column_strides" for name in (*per_element, *self.operands)]
        return arguments + [f"{name}: tl.constexpr" for name in ("COMPUTE", "ROWS", "COLUMNS")]

    def _write_row_nodes(self, writer: Writer, written: set[torch.fx.Node], number: int) -> None:
        """Write what has one value for each row and needs only the passes before this one."""
        ready = [
            node
            for node, first in self.plan.first_pass.items()
            if node.op == "call_function"
            and node not in self.plan.per_element
            and node not in writer.values
            and node not in written
            and first <= number
            and not is_reduction(node)
        ]
        writer.write(ready)
        written.update(ready)

    def _reducing_pass(self, rows: Writer, number: int) -> list[str]:
        reductions = self.plan.reductions(number)
        names = {node: self._accumulator(node) for node in reductions}
        lines = [f"{names[node]} = {IDENTITY[_primitive(node).name]}" for node in reductions]
        body, writer = self._loop_body(rows, reductions)
        for node in reductions:
            update = _primitive(node).spelling.format(writer.atom(node.args[0]), acc=names[node])
            body.append(f"{names[node]} = tl.where(mask, {update}, {names[node]})")
        lines += [_LOOP, *(f"    {line}" for line in body)]
        for node in reductions:
            lines.append(f"{names[node]} = {_primitive(node).device_function}({names[node]})")
            rows.values[node] = Expression(names[node])
        return lines

    def _accumulator(self, node: torch.fx.Node) -> str:
        """Name of a reduction: the primitive's, with a number where there are several of a kind."""
        alike = [item for item in self.graph.nodes if is_reduction(item) and item.target is node.target]
        name = _primitive(node).name
        return name if len(alike) == 1 else f"{name}_{alike.index(node)}"

    def _loop_body(self, rows: Writer, targets: list[torch.fx.Node]) -> tuple[list[str], Writer]:
        nodes = needed(targets, self.plan)
        lines = [
            "column = start + tl.arange(0, COLUMNS).to(tl.int64)[None, :]",
            "mask = row_mask & (column < n_columns)",
        ]
        writer = Writer(values=dict(rows.values))
        for node in self.graph.nodes:
            if node in nodes and node.op == "placeholder":
                name = node.target
                source = f"{name}_row + offsets(column, column_shape, {name}_column_strides)"
                lines.append(f"{name} = tl.load({source}, mask=mask).to(COMPUTE)")
                writer.bind(node, name)
        writer.write(node for node in self.graph.nodes if node in nodes and node.op == "call_function")
        return lines + writer.lines, writer

    def _stores(self, rows: Writer) -> list[str]:
        lines: list[str] = []
        per_element = []
        for result, value in zip(self.definition.results, self.values, strict=True):
            if result.per_element:
                per_element.append((result.name, value))
                continue
            place = f"{result.name}_ptr + offsets(row, row_shape, {result.name}_row_strides)"
            lines.append(
                f"tl.store({place}, {rows.atom(value)}.to({result.name}_ptr.dtype.element_ty), mask=row_mask)"
            )
        if per_element:
            body, writer = self._loop_body(rows, [value for _, value in per_element])
            for name, value in per_element:
                place = f"{name}_ptr + offsets(row, row_shape, {name}_row_strides)"
                place += f" + offsets(column, column_shape, {name}_column_strides)"
                body.append(
                    f"tl.store({place}, {writer.atom(value)}.to({name}_ptr.dtype.element_ty), mask=mask)"
                )
            lines += [_LOOP, *(f"    {line}" for line in body)]
        return lines

    def launch(self, signature: Signature) -> str:
        """Return the host lines that launch the kernel of an overload."""
        results = [
            (item, _out_name(item, signature, place)) for place, item in enumerate(self.definition.results)
        ]
        items = [name for _, name in results]
        items += self.operands
        items += [f"number_bits({self.definition.numbers.get(name, name)}, compute)" for name in self.numbers]
        items += ["n_rows", "n_columns"]
        strides = [
            f"row_strides({name}, shape, dims)"
            if item.per_element
            else f"result_row_strides({name}, shape, dims)"
            for item, name in results
        ]
        strides += [f"row_strides({name}, shape, dims)" for name in self.operands]
        items.append(f"*flatten(row_shape, {', '.join(strides)})")
        columns = [name for item, name in results if item.per_element] + self.operands
        strides = [f"column_strides({name}, shape, dims)" for name in columns]
        ordered = any(node.target is row_first for node in self.graph.nodes)
        strides += ["keep_order=True"] if ordered else []
        items.append(f"*flatten(column_shape, {', '.join(strides)})")
        items += ["COMPUTE=compute", "ROWS=block_rows", "COLUMNS=block_columns"]
        call = wrap(f"{self.name}[(triton.cdiv(n_rows, block_rows),)]", items, "", indent=4)
        condition = "n_rows and n_columns" if all(item.per_element for item, _ in results) else "n_rows"
        return f"if {condition}:\n{call}"


def _primitive(node: torch.fx.Node) -> Primitive:
    if not isinstance(node.target, Primitive):
        message = f"{node.target} is not a primitive"
        raise TypeError(message)
    return node.target


def _store(place: str, value: str, mask: str) -> str:
    return wrap("tl.store", [place, value, f"mask={mask}"], "", indent=8).strip()
