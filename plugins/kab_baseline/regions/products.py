"""Products of matrices and convolutions as one thing: rows, columns, and a sum over an inner index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kab_baseline.regions.axes import Unfusable
from kagent_bench.model.program import NodeRef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.model.program import Argument, Node, TensorFacts

_MATRICES = {"mm": (0, 1, None), "bmm": (0, 1, None), "addmm": (1, 2, 0), "baddbmm": (1, 2, 0)}
"""Places of left and right matrix, and of what is added."""
FLOATS = frozenset(["float16", "bfloat16", "float32", "float64"])
MAX_SPATIAL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution:
    """Geometry of a convolution."""

    spatial: tuple[int, ...]
    """Size of the input along each spatial dimension."""
    window: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    groups: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Contraction:
    """A product."""

    left: str
    """Value with the rows."""
    right: str
    """Value with the columns."""
    added: str | None
    """Value that is added: what ``addmm`` adds to, or a bias."""
    added_dim: int | None
    """Dimension of the result that a bias of one dimension lies along; None where it is broadcast from the right."""
    beta: float
    alpha: float
    n_inner: int
    column_dim: int
    """Dimension of the result that has the columns."""
    batch_dim: int | None
    convolution: Convolution | None = None

    @property
    def operands(self) -> tuple[str, ...]:
        """All operands."""
        return (self.left, self.right, *([self.added] if self.added else []))


def find_contraction(node: Node, facts: Mapping[str, TensorFacts | None]) -> Contraction | None:
    """Return the product that a call is, None if it is none.

    Raises:
        Unfusable: it is one that no kernel here can do.
    """
    base = node.operator.split(".")[1]
    if base in _MATRICES:
        return _matrices(node, base, facts)
    return _convolution(node, facts) if base == "convolution" else None


def _matrices(node: Node, base: str, facts: Mapping[str, TensorFacts | None]) -> Contraction:
    left_place, right_place, added_place = _MATRICES[base]
    left, right = _name(node.args[left_place]), _name(node.args[right_place])
    named = dict(node.kwargs)
    known = _facts(left, facts)
    _facts(right, facts)
    batched = base in {"bmm", "baddbmm"}
    return Contraction(
        left=left,
        right=right,
        added=None if added_place is None else _name(node.args[added_place]),
        added_dim=None,
        beta=_number(named.get("beta", 1)),
        alpha=_number(named.get("alpha", 1)),
        n_inner=known.shape[-1],
        column_dim=2 if batched else 1,
        batch_dim=0 if batched else None,
    )


def _convolution(node: Node, facts: Mapping[str, TensorFacts | None]) -> Contraction:
    source, weight, bias, stride, padding, dilation, transposed, _, groups = node.args
    left, right = _name(source), _name(weight)
    known, filters = _facts(left, facts), _facts(right, facts)
    spatial = known.shape[2:]
    if not 1 <= len(spatial) <= MAX_SPATIAL or len(known.shape) != len(filters.shape):
        raise Unfusable(f"a convolution of {len(known.shape)} dimensions")
    window = filters.shape[2:]
    per_group = filters.shape[0] // int(groups) if transposed else filters.shape[1]  # type: ignore[arg-type]
    n_inner = per_group
    for size in window:
        n_inner *= size
    return Contraction(
        left=left,
        right=right,
        added=None if bias is None else _name(bias),
        added_dim=1,
        beta=1.0,
        alpha=1.0,
        n_inner=n_inner,
        column_dim=1,
        batch_dim=None,
        convolution=Convolution(
            spatial=spatial,
            window=window,
            stride=_sizes(stride, len(spatial)),
            padding=_sizes(padding, len(spatial)),
            dilation=_sizes(dilation, len(spatial)),
            transposed=bool(transposed),
            groups=int(groups),  # type: ignore[arg-type]
        ),
    )


def _sizes(value: Argument, rank: int) -> tuple[int, ...]:
    items = value if isinstance(value, tuple) else (value,)
    sizes = tuple(int(item) for item in items)  # type: ignore[arg-type]
    return sizes * rank if len(sizes) == 1 else sizes


def _name(value: Argument) -> str:
    if not isinstance(value, NodeRef):
        raise Unfusable("a factor is no tensor")
    return value.name


def _number(value: Argument) -> float:
    if isinstance(value, bool | int | float):
        return float(value)
    raise Unfusable("a factor is no number")


def _facts(name: str, facts: Mapping[str, TensorFacts | None]) -> TensorFacts:
    known = facts.get(name)
    if known is None or known.dtype not in FLOATS:
        raise Unfusable(f"a product of {'no tensor' if known is None else known.dtype}")
    return known
