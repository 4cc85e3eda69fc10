"""The kernel of an attention region: one program for each tile of queries, which goes over the keys once.

The softmax is that of Milakov and Gimelshein (Online normalizer calculation for softmax, 2018) as FlashAttention
(Dao et al., 2022) uses it: a running maximum and a running sum, by which what was summed so far is rescaled. Scores
never leave the kernel. Heads are padded to a power of two, tails are masked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kab_baseline.expression import Expression, Writer
from kab_baseline.layout import indented, wrap
from kab_baseline.primitives import trace
from kab_baseline.regions.body import Body, Operand
from kab_baseline.regions.hosting import allocation, compute_name, power_of_two, shape_text, strides_text

if TYPE_CHECKING:
    from kab_baseline.regions.attention import Attention

SMALLEST = 16
"""Smallest edge of a tile of tl.dot."""
LARGEST = 64
"""Largest number of queries, or of keys, of a tile."""
LARGEST_FULL = 32
"""Largest number of keys of a tile in float32: more of what is multiplied without tensor cores spills on sm_90."""
TILE_BYTES = 16384
"""Bytes of a tile of queries, the least that is read again for every tile of keys."""
MANY = 4096
"""Elements of a tile of queries or results from which on twice the usual warps hold them without spilling on sm_90."""
STAGES = 2
"""Iterations whose loads are under way at a time."""
NAME = "attention_kernel"
_PRODUCT = "product"
_CONSTANTS = "N_ROWS N_COLUMNS N_INNER N_DEPTH COMPUTE USE_DOT UPCAST ROWS COLUMNS INNER DEPTH".split()


def write_attention(found: Attention) -> tuple[str, list[str]]:
    """Return the kernel of a region and the lines of its host function."""
    frame = _Frame(found)
    return frame.kernel(), frame.host()


class _Frame:
    def __init__(self, found: Attention) -> None:
        self.found = found
        self.scores = found.scores
        self.body = Body(found.scores)
        axes = found.scores.axes
        columns = axes.columns or set()
        self.axes = {
            "batch": [axis for axis in axes.order if axis in axes.batch],
            "row": [axis for axis in axes.order if axis not in axes.batch | columns],
            "column": [axis for axis in axes.order if axis in columns],
            "inner": list(found.inner),
            "depth": list(found.depth),
        }
        self.parts = {
            "out": ("batch", "row", "depth"),
            "query": ("batch", "row", "inner"),
            "key": ("batch", "column", "inner"),
            "value": ("batch", "column", "depth"),
            **{item.name: ("batch", "row", "column") for item in self.body.operands},
        }
        """What of the loops each tensor moves along, by its name in the kernel."""

    def _size(self, part: str) -> int:
        return self.scores.axes.size(tuple(self.axes[part]))

    # --- the kernel -------------------------------------------------------------------------------------------

    def kernel(self) -> str:
        """Return the source of the kernel."""
        arguments = [f"{name}_ptr" for name in self.parts]
        for part in self.axes:
            arguments.append(f"{part}_shape")
            arguments += [f"{name}_{part}_strides" for name in self.parts if part in self.parts[name]]
        arguments += [f"{name}: tl.constexpr" for name in _CONSTANTS]
        lines = [
            "tiles = tl.cdiv(N_ROWS, ROWS)",
            "program = tl.program_id(0).to(tl.int64)",
            "batch = program // tiles + tl.zeros((1, 1), tl.int64)",
            "row = (program % tiles * ROWS + tl.arange(0, ROWS))[:, None]",
            "inner = tl.arange(0, INNER).to(tl.int64)",
            "depth = tl.arange(0, DEPTH).to(tl.int64)[None, :]",
            *self._load("query", inner="inner[None, :]", mask="(row < N_ROWS) & (inner[None, :] < N_INNER)"),
            'largest = tl.full((ROWS, 1), float("-inf"), COMPUTE)',
            "total = tl.zeros((ROWS, 1), COMPUTE)",
            "result = tl.zeros((ROWS, DEPTH), COMPUTE)",
            "for start in range(0, N_COLUMNS, COLUMNS):",
            *(f"    {line}" for line in self._tile()),
            *self._end(),
        ]
        return "@triton.jit\n" + wrap(f"def {NAME}", arguments, ":") + "\n" + indented("\n".join(lines), 4)

    def _tile(self) -> list[str]:
        lines = [
            "place = start + tl.arange(0, COLUMNS).to(tl.int64)",
            "column = place[None, :]",
            *self._load(
                "key", inner="inner[:, None]", mask="(inner[:, None] < N_INNER) & (column < N_COLUMNS)"
            ),
            "product = tl.zeros((ROWS, COLUMNS), COMPUTE)",
            "product = multiply_tiles(query, key, product, COMPUTE, USE_DOT, UPCAST)",
        ]
        if self.body.operands:
            lines.append("mask = (row < N_ROWS) & (column < N_COLUMNS)")
        lines += [
            f"{item.name} = tl.load({self._address(item.name)}, mask=mask).to(COMPUTE)"
            for item in self.body.operands
        ]
        lines += self._formulas()
        return [
            *lines,
            "bound = tl.maximum(largest, tl.max(scores, axis=1)[:, None])",
            "# While all scores are minus infinity nothing is subtracted: their weights are zero, not NaN.",
            'shift = tl.where(bound == float("-inf"), 0.0, bound)',
            "weights = tl.exp(scores - shift)",
            "share = tl.exp(largest - shift)",
            "total = total * share + tl.sum(weights, axis=1)[:, None]",
            "largest = bound",
            *self._load(
                "value", column="place[:, None]", mask="(place[:, None] < N_COLUMNS) & (depth < N_DEPTH)"
            ),
            "weights = weights.to(value_ptr.dtype.element_ty)",
            "result = multiply_tiles(weights, value, result * share, COMPUTE, USE_DOT, UPCAST)",
        ]

    def _formulas(self) -> list[str]:
        """Return the lines that make scores of a product."""
        names = (*(item.name for item in self.body.operands), _PRODUCT)
        graph = trace(self.body.function(), names)
        writer = Writer()
        for node in graph.nodes:
            if node.op == "placeholder":
                writer.bind(node, str(node.target))
                writer.values[node] = Expression(str(node.target))
        writer.write(node for node in graph.nodes if node.op == "call_function")
        (value,) = next(node for node in graph.nodes if node.op == "output").args[0]
        last = f'scores = tl.where(column < N_COLUMNS, {writer.atom(value)}, float("-inf"))'
        return [*writer.lines, last]

    def _end(self) -> list[str]:
        safe = ["total = tl.where(total == 0, 1.0, total)"] if self.found.is_safe else []
        stored = "(result / total).to(out_ptr.dtype.element_ty)"
        return [
            *safe,
            "mask = (row < N_ROWS) & (depth < N_DEPTH)",
            wrap("tl.store", [self._address("out"), stored, "mask=mask"], ""),
        ]

    def _load(self, name: str, *, mask: str, **index: str) -> list[str]:
        return [
            f"{name}_mask = {mask}",
            f"{name} = tl.load({self._address(name, **index)}, mask={name}_mask, other=0)",
        ]

    def _address(self, name: str, **index: str) -> str:
        terms = [
            f"offsets({index.get(part, part)}, {part}_shape, {name}_{part}_strides)"
            for part in self.parts[name]
        ]
        return " + ".join([f"{name}_ptr", *terms])

    # --- the host ---------------------------------------------------------------------------------------------

    def host(self) -> list[str]:
        """Return the host lines: allocate, launch."""
        sources = {"query": self.found.query, "key": self.found.key, "value": self.found.value}
        tensors: dict[str, Operand | str] = {
            "out": self.found.result,
            **sources,
            **{item.name: item for item in self.body.operands},
        }
        given = {name: item.value if isinstance(item, Operand) else "out_0" for name, item in tensors.items()}
        items = list(given.values())
        for part, axes in self.axes.items():
            items.append(shape_text(self.scores, axes) if axes else "(1,)")
            items += [
                strides_text(self.scores, tensors[name], given[name], axes) if axes else "(0,)"
                for name in self.parts
                if part in self.parts[name]
            ]
        compute = compute_name(self.scores)
        rows, columns, inner, depth = self._edges(use_dot=compute == "tl.float32")
        n_warps = 8 if rows * max(inner, depth) >= MANY else 4
        items += [
            f"N_ROWS={self._size('row')}",
            f"N_COLUMNS={self._size('column')}",
            f"N_INNER={self._size('inner')}",
            f"N_DEPTH={self._size('depth')}",
            f"COMPUTE={compute}",
            f"USE_DOT={compute == 'tl.float32'}",
            f'UPCAST={given["query"]}.device.type == "cpu"',
            f"ROWS={rows}",
            f"COLUMNS={columns}",
            f"INNER={inner}",
            f"DEPTH={depth}",
            f"num_warps={n_warps}",
            f"num_stages={STAGES}",
        ]
        n_programs = self._size("batch") * -(-self._size("row") // rows)
        return [
            allocation(self.scores, self.found.result, "out_0"),
            wrap(f"{NAME}[({n_programs},)]", items, ""),
        ]

    def _edges(self, *, use_dot: bool) -> tuple[int, int, int, int]:
        """Return the edges of the tiles: queries, keys, the rows of queries and those of values."""
        inner, depth = (max(SMALLEST, power_of_two(self._size(part))) for part in ("inner", "depth"))
        known = self.scores.facts[self.found.query.value]
        assert known is not None
        item = 2 if known.dtype in {"float16", "bfloat16"} else 4
        rows = min(LARGEST, max(SMALLEST, TILE_BYTES // (item * max(inner, depth)))) if use_dot else SMALLEST
        columns = min(rows, LARGEST if item == 2 else LARGEST_FULL)  # noqa: PLR2004 - bytes of half precision
        return self._edge("row", rows), self._edge("column", columns), inner, depth

    def _edge(self, part: str, most: int) -> int:
        return min(most, max(SMALLEST, power_of_two(self._size(part))))
