"""Regions with a product: one program for each tile, with the rest of the region's formulas on the tile.

Rows are the positions of the result apart from its columns, columns are the last dimension of a matrix product or the
channels of a convolution, and the inner index runs over what is summed: for a convolution over the channels of a
group and the window, with elements outside the input read as zero.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from kab_baseline.expression import Expression, Writer
from kab_baseline.layout import indented, wrap
from kab_baseline.primitives import trace
from kab_baseline.regions.hosting import allocation, compute_name, power_of_two, shape_text, strides_text

if TYPE_CHECKING:
    from kab_baseline.regions.analysis import Analysis
    from kab_baseline.regions.body import Body
    from kab_baseline.regions.products import Contraction, Convolution

LARGEST = (64, 64, 32)
"""Largest rows, columns and inner index of a tile of tl.dot."""
SMALLEST = 16
"""Smallest edge of a tile of tl.dot."""
PLAIN = 16
"""Edge of the cube that types without tl.dot multiply."""
_PRODUCT = "product"


def write_product(found: Analysis, body: Body, name: str) -> tuple[str, list[str]]:
    """Return the kernel of a region and the lines of its host function.

    Args:
        found: the analysed region.
        body: its formulas.
        name: of the kernel.
    """
    frame = _Frame(found, body, name)
    return frame.kernel(), frame.host()


class _Frame:
    def __init__(self, found: Analysis, body: Body, name: str) -> None:
        assert found.product is not None
        assert found.axes.columns is not None
        self.found = found
        self.product: Contraction = found.product
        self.body = body
        self.name = name
        axes = found.axes
        self.batch = [axis for axis in axes.order if axis in axes.batch]
        columns = axes.columns or set()
        self.columns = [axis for axis in axes.order if axis in columns]
        self.rows = [axis for axis in axes.order if axis not in {*self.batch, *self.columns}]
        self.outs = {value: f"out_{index}" for index, value in enumerate(found.outputs)}
        self.operands = list(body.operands)
        names = (*(item.name for item in self.operands), _PRODUCT)
        self.graph = trace(body.function(), names)

    @property
    def groups(self) -> int:
        convolution = self.product.convolution
        return 1 if convolution is None else convolution.groups

    def _sizes(self) -> tuple[int, int, int]:
        """Return the number of batches (or groups), rows, and columns of each."""
        axes = self.found.axes
        n_columns = axes.size(tuple(self.columns)) // self.groups
        n_batches = axes.size(tuple(self.batch)) * self.groups
        return n_batches, axes.size(tuple(self.rows)), n_columns

    # --- the kernel -------------------------------------------------------------------------------------------

    def kernel(self) -> str:
        """Return the source of the kernel."""
        tensors = [*self.outs.values(), *(item.name for item in self.operands)]
        arguments = [f"{name}_ptr" for name in self.outs.values()]
        arguments += ["left_ptr", "right_ptr", *(f"{item.name}_ptr" for item in self.operands)]
        arguments += ["left_strides", "right_strides"]
        for part in ("batch", "row", "column"):
            arguments += [f"{part}_shape", *(f"{name}_{part}_strides" for name in tensors)]
        arguments += [
            f"{name}: tl.constexpr"
            for name in (
                "N_ROWS", "N_COLUMNS", "N_INNER", "COMPUTE", "USE_DOT", "UPCAST", "ROWS", "COLUMNS", "INNER",
            )
        ]  # fmt: skip
        lines = [
            "tiles_across = tl.cdiv(N_COLUMNS, COLUMNS)",
            "tiles = tl.cdiv(N_ROWS, ROWS) * tiles_across",
            "program = tl.program_id(0).to(tl.int64)",
            "batch = program // tiles",
            "tile = program % tiles",
            "row = (tile // tiles_across * ROWS + tl.arange(0, ROWS))[:, None]",
            "column = (tile % tiles_across * COLUMNS + tl.arange(0, COLUMNS))[None, :]",
            "product = tl.zeros((ROWS, COLUMNS), COMPUTE)",
            *self._row_lines(),
            "for start in range(0, N_INNER, INNER):",
            "    inner = start + tl.arange(0, INNER).to(tl.int64)",
            *(f"    {line}" for line in self._load_lines()),
            "    product = multiply_tiles(left, right, product, COMPUTE, USE_DOT, UPCAST)",
            "mask = (row < N_ROWS) & (column < N_COLUMNS)",
            *self._place_lines(),
        ]
        writer = Writer()
        for item in self.operands:
            place = self._address(item.name)
            lines.append(f"{item.name} = tl.load({place}, mask=mask).to(COMPUTE)")
        for node in self.graph.nodes:
            if node.op == "placeholder":
                writer.bind(node, str(node.target))
                writer.values[node] = Expression(str(node.target))
        writer.write(node for node in self.graph.nodes if node.op == "call_function")
        values = next(node for node in self.graph.nodes if node.op == "output").args[0]
        lines += writer.lines
        for out, value in zip(self.outs.values(), values, strict=True):
            stored = f"{writer.atom(value)}.to({out}_ptr.dtype.element_ty)"
            lines.append(wrap("tl.store", [self._address(out), stored, "mask=mask"], ""))
        return (
            "@triton.jit\n" + wrap(f"def {self.name}", arguments, ":") + "\n" + indented("\n".join(lines), 4)
        )

    def _address(self, name: str) -> str:
        return (
            f"{name}_ptr + offsets(place_batch, batch_shape, {name}_batch_strides)"
            f" + offsets(row, row_shape, {name}_row_strides)"
            f" + offsets(place_column, column_shape, {name}_column_strides)"
        )

    def _place_lines(self) -> list[str]:
        if self.groups == 1:
            return ["place_batch = batch + tl.zeros((1, 1), tl.int64)", "place_column = column"]
        return [
            "place_batch = tl.zeros((1, 1), tl.int64)",
            "place_column = batch * N_COLUMNS + column",
        ]

    def _row_lines(self) -> list[str]:
        convolution = self.product.convolution
        if convolution is None:
            return [
                "left_rows = left_ptr + batch * left_strides[0] + row * left_strides[1]",
                "right_columns = right_ptr + batch * right_strides[0] + column * right_strides[2]",
            ]
        facts = self.found.facts[self._product_node()]
        assert facts is not None
        outside = facts.shape[2:]
        lines = [f"image = row // {prod(outside)}"]
        for index, size in enumerate(outside):
            inner = prod(outside[index + 1 :])
            lines.append(f"o{index} = row // {inner} % {size}" if inner != 1 else f"o{index} = row % {size}")
        return lines

    def _product_node(self) -> str:
        return next(
            step.node.name
            for step in self.found.steps
            if step.formula is None and set(self.product.operands) & set(step.node.refs())
        )

    def _load_lines(self) -> list[str]:
        convolution = self.product.convolution
        if convolution is None:
            return [
                "left_mask = (row < N_ROWS) & (inner[None, :] < N_INNER)",
                "left = tl.load(left_rows + inner[None, :] * left_strides[2], mask=left_mask, other=0)",
                "right_mask = (inner[:, None] < N_INNER) & (column < N_COLUMNS)",
                "right = tl.load(right_columns + inner[:, None] * right_strides[1], mask=right_mask, other=0)",
            ]
        window = prod(convolution.window)
        per_group = self.product.n_inner // window
        lines = [f"channel = inner // {window}" if window != 1 else "channel = inner"]
        for index, size in enumerate(convolution.window):
            inner = prod(convolution.window[index + 1 :])
            lines.append(
                f"k{index} = inner // {inner} % {size}" if inner != 1 else f"k{index} = inner % {size}"
            )
        lines.append("inside = (row < N_ROWS) & (inner[None, :] < N_INNER)")
        lines += self._position_lines(convolution)
        group = f"batch * {per_group} + channel" if convolution.groups > 1 else "channel"
        moves = " + ".join(
            f"i{index} * left_strides[{index + 2}]" for index in range(len(convolution.window))
        )
        lines += [
            f"source = {group}",
            f"left_place = left_ptr + image * left_strides[0] + source[None, :] * left_strides[1] + {moves}",
            "left = tl.load(left_place, mask=inside, other=0)",
            "right_mask = (inner[:, None] < N_INNER) & (column < N_COLUMNS)",
        ]
        taps = " + ".join(
            f"k{index}[:, None] * right_strides[{index + 2}]" for index in range(len(convolution.window))
        )
        if convolution.transposed:
            filters = "source[:, None] * right_strides[0] + column * right_strides[1]"
        else:
            target = "(batch * N_COLUMNS + column)" if convolution.groups > 1 else "column"
            filters = f"{target} * right_strides[0] + channel[:, None] * right_strides[1]"
        lines.append(f"right = tl.load(right_ptr + {filters} + {taps}, mask=right_mask, other=0)")
        return lines

    @staticmethod
    def _position_lines(convolution: Convolution) -> list[str]:
        lines = []
        for index, size in enumerate(convolution.spatial):
            step, pad, gap = (
                convolution.stride[index],
                convolution.padding[index],
                convolution.dilation[index],
            )
            tap = f"k{index}[None, :]" + (f" * {gap}" if gap != 1 else "")
            if convolution.transposed:
                lines.append(f"t{index} = o{index} + {pad} - {tap}")
                lines.append(f"i{index} = t{index} // {step}" if step != 1 else f"i{index} = t{index}")
                whole = f" & (t{index} % {step} == 0)" if step != 1 else ""
                lines.append(f"inside = inside & (t{index} >= 0) & (i{index} < {size}){whole}")
            else:
                place = f"o{index}" + (f" * {step}" if step != 1 else "")
                lines.append(f"i{index} = {place} - {pad} + {tap}" if pad else f"i{index} = {place} + {tap}")
                low = f" & (i{index} >= 0)" if pad else ""
                lines.append(f"inside = inside{low} & (i{index} < {size})")
        return lines

    # --- the host ---------------------------------------------------------------------------------------------

    def host(self) -> list[str]:
        """Return the host lines: allocate, launch."""
        left, right = self.product.left, self.product.right
        n_batches, n_rows, n_columns = self._sizes()
        lines = [allocation(self.found, value, out) for value, out in self.outs.items()]
        use_dot = "True" if compute_name(self.found) == "tl.float32" else "False"
        sizes = (n_rows, n_columns, self.product.n_inner)
        tile = [
            min(largest, max(SMALLEST, power_of_two(size))) if use_dot == "True" else PLAIN
            for size, largest in zip(sizes, LARGEST, strict=True)
        ]
        strides = "{0}.stride()" if self.product.convolution else "matrix_strides({0})"
        items = [*self.outs.values(), left, right, *(item.value for item in self.operands)]
        items += [strides.format(left), strides.format(right)]
        for axes in (self.batch, self.rows, self.columns):
            items += self._part(axes)
        items += [
            f"N_ROWS={n_rows}",
            f"N_COLUMNS={n_columns}",
            f"N_INNER={self.product.n_inner}",
            f"COMPUTE={compute_name(self.found)}",
            f"USE_DOT={use_dot}",
            f'UPCAST={left}.device.type == "cpu"',
            f"ROWS={tile[0]}",
            f"COLUMNS={tile[1]}",
            f"INNER={tile[2]}",
        ]
        n_programs = n_batches * -(-n_rows // tile[0]) * -(-n_columns // tile[1])
        lines.append(wrap(f"{self.name}[({n_programs},)]", items, ""))
        return lines

    def _part(self, axes: list[int]) -> list[str]:
        """Return shape and strides along some axes; one axis of one element where there are none."""
        strides = [strides_text(self.found, value, out, axes) for value, out in self.outs.items()]
        strides += [strides_text(self.found, item, item.value, axes) for item in self.operands]
        if not axes:
            return ["(1,)", *("(0,)" for _ in strides)]
        return [shape_text(self.found, axes), *strides]
