"""The product frame: one program for each tile of a matrix product, with the rest of the formula on the tile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kab_baseline.assembly import assemble
from kab_baseline.expression import Expression, Writer
from kab_baseline.layout import indented, wrap
from kab_baseline.primitives import matrix_product, parameter_names, trace
from kab_baseline.signature import Signature, Writes

if TYPE_CHECKING:
    from kab_baseline.definition import Product

TILE_CONSTANTS = {"DOT_ROWS": 64, "DOT_COLUMNS": 64, "DOT_INNER": 32, "PLAIN": 16}
"""Tile of tl.dot (a power of two, 16 at least), and the edge of the cube that types without it multiply."""


def supports(definition: Product, signature: Signature) -> bool:
    """Whether the overload has the operands that the formula names, and one result."""
    names = parameter_names(definition.body)
    given = {item.name for item in signature.inputs}
    return set(names) == given and signature.n_results == 1


def write(definition: Product, signature: Signature) -> str:
    """Return the kernel file of an overload."""
    frame = _Product(definition, signature)
    return assemble(signature, definition.summary, [frame.kernel()], frame.host(), constants=TILE_CONSTANTS)


class _Product:
    def __init__(self, definition: Product, signature: Signature) -> None:
        self.definition = definition
        self.signature = signature
        names = parameter_names(definition.body)
        self.graph = trace(definition.body, names)
        (self.node,) = (node for node in self.graph.nodes if node.target is matrix_product)
        self.left, self.right = (item.target for item in self.node.all_input_nodes)
        tensors = {item.name for item in signature.inputs if item.is_tensor}
        self.added = [name for name in names if name in tensors and name not in {self.left, self.right}]
        self.numbers = [name for name in names if name not in tensors]
        self.name = f"{signature.operator.base.strip('_')}_kernel"

    def kernel(self) -> str:
        """Return the source of the kernel."""
        left, right = self.left, self.right
        tensors = [left, right, *self.added]
        arguments = [
            "out_ptr",
            *(f"{name}_ptr" for name in tensors),
            *(f"{name}_bits" for name in self.numbers),
        ]
        arguments += [
            "n_rows",
            "n_columns",
            "n_inner",
            "out_strides",
            *(f"{name}_strides" for name in tensors),
        ]
        arguments += [
            f"{name}: tl.constexpr" for name in ("COMPUTE", "USE_DOT", "UPCAST", "ROWS", "COLUMNS", "INNER")
        ]
        lines = [
            "tiles_across = tl.cdiv(n_columns, COLUMNS)",
            "tiles = tl.cdiv(n_rows, ROWS) * tiles_across",
            "program = tl.program_id(0).to(tl.int64)",
            "batch = program // tiles",
            "tile = program % tiles",
            "row = (tile // tiles_across * ROWS + tl.arange(0, ROWS))[:, None]",
            "column = (tile % tiles_across * COLUMNS + tl.arange(0, COLUMNS))[None, :]",
            f"{left}_rows = {left}_ptr + batch * {left}_strides[0] + row * {left}_strides[1]",
            f"{right}_columns = {right}_ptr + batch * {right}_strides[0] + column * {right}_strides[2]",
            "product = tl.zeros((ROWS, COLUMNS), COMPUTE)",
            "for start in range(0, n_inner, INNER):",
            "    inner = start + tl.arange(0, INNER).to(tl.int64)",
            f"    {left}_mask = (row < n_rows) & (inner[None, :] < n_inner)",
            f"    {left} = tl.load({left}_rows + inner[None, :] * {left}_strides[2], mask={left}_mask, other=0)",
            f"    {right}_mask = (inner[:, None] < n_inner) & (column < n_columns)",
            f"    {right} = tl.load({right}_columns + inner[:, None] * {right}_strides[1], mask={right}_mask, other=0)",
            f"    product = multiply_tiles({left}, {right}, product, COMPUTE, USE_DOT, UPCAST)",
            "mask = (row < n_rows) & (column < n_columns)",
        ]
        place = "batch * {0}_strides[0] + row * {0}_strides[1] + column * {0}_strides[2]"
        lines += [
            f"{name} = tl.load({name}_ptr + {place.format(name)}, mask=mask).to(COMPUTE)"
            for name in self.added
        ]
        lines += [f"{name} = number({name}_bits, COMPUTE)" for name in self.numbers]
        writer = Writer()
        for node in self.graph.nodes:
            if node.op == "placeholder":
                writer.bind(node, node.target)
        writer.values[self.node] = Expression("product")
        writer.write(
            node for node in self.graph.nodes if node.op == "call_function" and node is not self.node
        )
        (value,) = next(node for node in self.graph.nodes if node.op == "output").args[0]
        lines += writer.lines
        stored = f"{writer.atom(value)}.to(out_ptr.dtype.element_ty)"
        lines.append(wrap("tl.store", [f"out_ptr + {place.format('out')}", stored, "mask=mask"], ""))
        return (
            "@triton.jit\n" + wrap(f"def {self.name}", arguments, ":") + "\n" + indented("\n".join(lines), 4)
        )

    def host(self) -> str:
        """Return the host code: check, allocate, launch, return."""
        left, right = self.left, self.right
        views = self.definition.views
        lines = []
        first = self.signature.inputs[0].name
        if len({left, right, *self.added}) > 1:
            others = [name for name in (left, right, *self.added) if name != first]
            lines += [
                f"if any(other.dtype != {first}.dtype for other in ({', '.join(others)},)):",
                '    raise RuntimeError("expected operands of one data type")',
            ]
        lines += [f"left = {views.get(left, left)}", f"right = {views.get(right, right)}"]
        lines += [
            "if left.shape[-1] != right.shape[-2]"
            + (" or len(left) != len(right):" if self.definition.batched else ":"),
            '    raise RuntimeError(f"shapes {tuple(left.shape)} and {tuple(right.shape)} cannot be multiplied")',
        ]
        batch = "left.shape[0], " if self.definition.batched else ""
        lines.append(f"size = ({batch}left.shape[-2], right.shape[-1])")
        shape = self.definition.result_shape or "size"
        if self.signature.writes is Writes.NEW:
            lines.append(f"out = torch.empty({shape}, dtype={left}.dtype, device={left}.device)")
        elif self.signature.writes is Writes.SELF:
            lines.append("out = self")
        else:
            lines.append(
                f"resize_result(out, {shape}, contiguous_strides({shape}, range(len({shape}) - 1, -1, -1)))"
            )
        added = [
            f"{name}.expand({shape})" if name not in views else views[name] + ".expand(size)"
            for name in self.added
        ]
        lines += [
            f"compute = compute_dtype({left}.dtype)",
            f"use_dot = {left}.dtype in {{torch.float16, torch.bfloat16, torch.float32}}",
            "rows, columns, inner = (DOT_ROWS, DOT_COLUMNS, DOT_INNER) if use_dot else (PLAIN, PLAIN, PLAIN)",
            "tiles = triton.cdiv(size[-2], rows) * triton.cdiv(size[-1], columns)",
            f"n_programs = {'size[0] * ' if self.definition.batched else ''}tiles",
            f"result = {self.definition.result_view}",
        ]
        items = ["out", left, right, *self.added]
        items += [f"number_bits({name}, compute)" for name in self.numbers]
        items += ["size[-2]", "size[-1]", "left.shape[-1]"]
        items += [f"matrix_strides({name})" for name in ("result", "left", "right", *added)]
        items += [
            "COMPUTE=compute",
            "USE_DOT=use_dot",
            f'UPCAST={left}.device.type == "cpu"',
            "ROWS=rows",
            "COLUMNS=columns",
            "INNER=inner",
        ]
        lines += ["if n_programs:", wrap(f"{self.name}[(n_programs,)]", items, "", indent=4), "return out"]
        return "\n".join(lines)
