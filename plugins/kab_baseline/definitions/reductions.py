"""Reductions: sums, extremes, moments, norms, and the indices of extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kab_baseline import primitives as p
from kab_baseline.definition import RowResult, Rows, Variant
from kab_baseline.signature import Signature

V = Any  # a traced value, tensor or number
Builder = Callable[[Signature], "Rows | None"]


def one(body: Callable[..., Any]) -> tuple[Variant, ...]:
    """Return the only variant of an operator that has one formula."""
    return (Variant(name="", when="", body=body),)


def dims_of(signature: Signature) -> str:
    """Return the host expression of the reduced dimensions: all where the overload has no ``dim``."""
    return "reduced_dims(dim, self.dim())" if "dim" in signature.names else "reduced_dims(None, self.dim())"


def keepdim_of(signature: Signature) -> str:
    """Return the host expression for keeping reduced dimensions."""
    return "keepdim" if "keepdim" in signature.names else "False"


def _argument(signature: Signature, name: str, default: str) -> str:
    return name if name in signature.names else default


def _row_kind(
    body: Callable[..., Any], summary: str, *, dtype: str, result: str = "dtype", **options: Any
) -> Builder:
    """Return the builder of a reduction with one result."""

    def build(signature: Signature) -> Rows | None:
        asked = _argument(signature, "dtype", "None")
        return Rows(
            summary=summary,
            variants=options.get("variants", one(body)),
            results=(RowResult(name="out", dtype=result),),
            dims=dims_of(signature),
            keepdim=keepdim_of(signature),
            dtype=dtype.format(asked=asked),
            numbers=options.get("numbers", {}),
            prepare=options.get("prepare", ()),
            largest_columns=options.get("largest_columns", 1024),
        )

    return build


ACCUMULATED = "accumulate_dtype(self, {asked})"
FLOATING = "floating_dtype(self, {asked})"
PRODUCT_COLUMNS = 64
"""Columns of a product's block: the interpreter multiplies the last ones one by one."""


def _mean(self: V, count: V) -> V:
    return p.row_sum(self) / count


def _any(self: V) -> V:
    return p.row_count(self != 0) != 0


def _all(self: V) -> V:
    return p.row_count(self == 0) == 0


def _count_nonzero(self: V) -> V:
    return p.row_count(self != 0)


def _nansum(self: V) -> V:
    return p.row_sum(p.where(p.is_nan(self), 0, self))


def _logsumexp(self: V) -> V:
    largest = p.row_max(self)
    shift = p.where(p.is_infinite(largest), 0.0, largest)
    return p.log(p.row_sum(p.exp(self - shift))) + shift


def _argmax(self: V) -> V:
    largest = p.row_max(self)
    return p.row_first((self == largest) | p.is_nan(self))


def _argmin(self: V) -> V:
    smallest = p.row_min(self)
    return p.row_first((self == smallest) | p.is_nan(self))


def _max_with_index(self: V) -> V:
    largest = p.row_max(self)
    return largest, p.row_first((self == largest) | p.is_nan(self))


def _min_with_index(self: V) -> V:
    smallest = p.row_min(self)
    return smallest, p.row_first((self == smallest) | p.is_nan(self))


def _moments(self: V, count: V, correction: V) -> V:
    mean = p.row_sum(self) / count
    gap = self - mean
    freedom = count - correction
    return p.row_sum(gap * gap) / p.where(freedom < 0.0, 0.0, freedom), mean


def _var(self: V, count: V, correction: V) -> V:
    return _moments(self, count, correction)[0]


def _std(self: V, count: V, correction: V) -> V:
    return p.sqrt(_moments(self, count, correction)[0])


def _std_mean(self: V, count: V, correction: V) -> V:
    variance, mean = _moments(self, count, correction)
    return p.sqrt(variance), mean


def _norm_2(self: V) -> V:
    return p.sqrt(p.row_sum(self * self))


def _norm_1(self: V) -> V:
    return p.row_sum(p.absolute(self))


def _norm_0(self: V) -> V:
    return p.row_sum(p.where(self != 0.0, 1.0, 0.0))


def _norm_max(self: V) -> V:
    return p.row_max(p.absolute(self))


def _norm_min(self: V) -> V:
    return p.row_min(p.absolute(self))


def _norm_p(self: V, ord: V) -> V:  # noqa: A002 - named as in the schema
    return p.power(p.row_sum(p.power(p.absolute(self), ord)), 1.0 / ord)


def _norms(order: str) -> tuple[Variant, ...]:
    return (
        Variant(name="two", when=f"{order} == 2", body=_norm_2),
        Variant(name="one", when=f"{order} == 1", body=_norm_1),
        Variant(name="zero", when=f"{order} == 0", body=_norm_0),
        Variant(name="largest", when=f'{order} == float("inf")', body=_norm_max),
        Variant(name="smallest", when=f'{order} == float("-inf")', body=_norm_min),
        Variant(name="power", when="", body=_norm_p),
    )


def _norm(signature: Signature) -> Rows:
    order = "2 if p is None else p" if "p" in signature.names else "2"
    return Rows(
        summary="p-norm",
        variants=_norms("ord"),
        results=(RowResult(name="out", dtype="dtype"),),
        prepare=(f"ord = {order}",),
        dims=dims_of(signature),
        keepdim=keepdim_of(signature),
        dtype=FLOATING.format(asked=_argument(signature, "dtype", "None")),
    )


def _spread(body: Callable[..., Any], summary: str, names: tuple[str, ...]) -> Builder:
    """Return the builder of a variance-like reduction, whatever its overload calls the correction."""

    def build(signature: Signature) -> Rows | None:
        if "correction" in signature.names:
            correction = "1 if correction is None else correction"
        elif "unbiased" in signature.names:
            correction = "int(unbiased)"
        else:
            correction = "1"
        return Rows(
            summary=summary,
            variants=one(body),
            results=tuple(RowResult(name=name, dtype="dtype") for name in names),
            dims=dims_of(signature),
            keepdim=keepdim_of(signature),
            numbers={"correction": correction},
        )

    return build


def _extreme(full: Callable[..., Any], indexed: Callable[..., Any], summary: str) -> Builder:
    def build(signature: Signature) -> Rows | None:
        if "other" in signature.names or any(item.type == "str" for item in signature.inputs):
            return None
        if "dim" not in signature.names:
            return Rows(
                summary=summary,
                variants=one(full),
                results=(RowResult(name="out", dtype="dtype"),),
                dims="reduced_dims(None, self.dim())",
                keepdim="False",
                prepare=_NOT_EMPTY,
            )
        return Rows(
            summary=f"{summary}, and where it is",
            variants=one(indexed),
            results=(RowResult(name="values", dtype="dtype"), RowResult(name="indices", dtype="torch.int64")),
        )

    return build


_NOT_EMPTY = (
    "if self.numel() == 0:",
    '    raise RuntimeError("cannot reduce an empty tensor to its extreme")',
)
_TRUTH = "torch.uint8 if self.dtype == torch.uint8 else torch.bool"

BUILDERS: dict[str, Builder] = {
    "sum": _row_kind(p.row_sum, "sum", dtype=ACCUMULATED),
    "nansum": _row_kind(_nansum, "sum of what is not NaN", dtype=ACCUMULATED),
    "prod": _row_kind(p.row_product, "product", dtype=ACCUMULATED, largest_columns=PRODUCT_COLUMNS),
    "mean": _row_kind(_mean, "mean", dtype="self.dtype if {asked} is None else {asked}"),
    "amax": _row_kind(p.row_max, "largest value", dtype="self.dtype"),
    "amin": _row_kind(p.row_min, "smallest value", dtype="self.dtype"),
    "any": _row_kind(_any, "whether any is nonzero", dtype="self.dtype", result=_TRUTH),
    "all": _row_kind(_all, "whether all are nonzero", dtype="self.dtype", result=_TRUTH),
    "argmax": _row_kind(_argmax, "index of the largest value", dtype="self.dtype", result="torch.int64"),
    "argmin": _row_kind(_argmin, "index of the smallest value", dtype="self.dtype", result="torch.int64"),
    "count_nonzero": _row_kind(
        _count_nonzero, "number of nonzeros", dtype="self.dtype", result="torch.int64"
    ),
    "logsumexp": _row_kind(_logsumexp, "log(sum(e**self))", dtype=FLOATING),
    "max": _extreme(p.row_max, _max_with_index, "largest value"),
    "min": _extreme(p.row_min, _min_with_index, "smallest value"),
    "var": _spread(_var, "variance", ("out",)),
    "std": _spread(_std, "standard deviation", ("out",)),
    "var_mean": _spread(_moments, "variance and mean", ("variance", "mean")),
    "std_mean": _spread(_std_mean, "standard deviation and mean", ("deviation", "mean")),
    "linalg_vector_norm": _row_kind(
        _norm_2, "vector norm of order ord", dtype=FLOATING, variants=_norms("ord")
    ),
    "norm": _norm,
}
