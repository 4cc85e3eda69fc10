"""Matrix products, alone and added to something."""

from __future__ import annotations

from typing import Any

from kab_baseline import primitives as p
from kab_baseline.definition import Product

V = Any  # a traced value, tensor or number


def _mm(self: V, mat2: V) -> V:
    return p.matrix_product(self, mat2)


def _mv(self: V, vec: V) -> V:
    return p.matrix_product(self, vec)


def _scaled(self: V, product: V, beta: V, alpha: V) -> V:
    """Add to a product; with beta 0 not even NaN of self counts."""
    return p.where(beta == 0, 0, beta * self) + alpha * product


def _addmm(self: V, mat1: V, mat2: V, beta: V, alpha: V) -> V:
    return _scaled(self, p.matrix_product(mat1, mat2), beta, alpha)


def _addmv(self: V, mat: V, vec: V, beta: V, alpha: V) -> V:
    return _scaled(self, p.matrix_product(mat, vec), beta, alpha)


def _baddbmm(self: V, batch1: V, batch2: V, beta: V, alpha: V) -> V:
    return _scaled(self, p.matrix_product(batch1, batch2), beta, alpha)


_VECTOR = {"vec": "vec.unsqueeze(1)"}

OPERATORS: dict[str, Product] = {
    "mm": Product(summary="self @ mat2", body=_mm),
    "bmm": Product(summary="self @ mat2 for each matrix of a batch", body=_mm, batched=True),
    "mv": Product(
        summary="self @ vec",
        body=_mv,
        views=_VECTOR,
        result_shape="size[:1]",
        result_view="out.unsqueeze(1)",
    ),
    "addmm": Product(summary="beta * self + alpha * mat1 @ mat2", body=_addmm),
    "addmv": Product(
        summary="beta * self + alpha * mat @ vec",
        body=_addmv,
        views={**_VECTOR, "self": "self.unsqueeze(-1)"},
        result_shape="size[:1]",
        result_view="out.unsqueeze(1)",
    ),
    "baddbmm": Product(summary="beta * self + alpha * batch1 @ batch2", body=_baddbmm, batched=True),
}
