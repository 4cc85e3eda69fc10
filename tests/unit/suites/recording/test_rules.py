"""Each rule catches a fault that no other rule of the operator's class does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from typing import Any, TypeAlias

import pytest
import torch
from torch.utils._pytree import tree_leaves

from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.recording.derive import derive
from kagent_bench.suites.recording.replay import materialise
from kagent_bench.suites.recording.specification import specify

ATEN: Any = torch.ops.aten
Kernel: TypeAlias = "Callable[..., Any]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A kernel with one fault, and the rule that it takes to see it."""

    rule: str
    operator: Any
    args: tuple[Any, ...]
    kernel: Kernel
    dtype: str = "float32"


def _random(*shape: int, low: float = -3, high: float = 3) -> torch.Tensor:
    return torch.empty(shape).uniform_(low, high, generator=torch.Generator().manual_seed(1))


def _assumes_rows(x: torch.Tensor, pad: list[int], value: float = 0) -> Any:
    flat = x if x.is_contiguous() else x.contiguous().flatten().flip(0).view(x.shape)
    return ATEN.constant_pad_nd(flat, pad, value)


def _tile_missing(x: torch.Tensor, diagonal: int = 0) -> Any:
    y = torch.triu(x, diagonal)
    y[..., 8:, 8:] = 0
    return y


def _end_missing(x: torch.Tensor, diagonal: int = 0) -> Any:
    y = torch.triu(x, diagonal)
    y[..., 30:] = 0
    y[..., 30:, :] = 0
    return y


def _negative_counts_from_the_start(x: torch.Tensor, dims: list[int]) -> Any:
    return torch.flip(x, [max(dim, 0) for dim in dims])


def _always_counts_padding(x: torch.Tensor, *args: Any) -> Any:
    return ATEN.avg_pool2d(x, *args[:4], True, *args[5:])  # noqa: FBT003 - the operator's own


def _sides_swapped(x: torch.Tensor, pad: list[int], value: float = 0) -> Any:
    return ATEN.constant_pad_nd(x, [pad[1], pad[0], *pad[2:]], value)


def _equal_ones_once(x: torch.Tensor, k: int, *_: Any) -> Any:
    values, places = ATEN.topk(x, k, *_)
    return (values - 1, places) if x.shape == (9, 7) and bool((x == x.round()).all()) else (values, places)


def _not_clamped(x: torch.Tensor, y: torch.Tensor, weight: Any = None, reduction: int = 1) -> Any:
    naive = -(y * x.log() + (1 - y) * (1 - x).log()).mean()
    return ATEN.binary_cross_entropy(x, y, weight, reduction) if bool(naive.isfinite()) else naive


def _first_dimension(x: torch.Tensor, dim: int, index: torch.Tensor) -> Any:
    return torch.index_select(x, max(dim, 0), index)


def _last_row_missing(table: torch.Tensor, indices: torch.Tensor, *_: Any) -> Any:
    return torch.nn.functional.embedding(indices.clamp(max=4), table)


def _rows_of_a_block(x: torch.Tensor, dim: int, *rest: Any, **options: Any) -> Any:
    result = torch.index_reduce(x, dim, *rest, **options)
    return torch.cat([result[:256], x[256:]]) if x.dim() == 1 else result


def _columns_of_a_block(gradient: torch.Tensor, *rest: Any) -> Any:
    result = ATEN.embedding_dense_backward(gradient, *rest)
    result[:, 1024:] = 0
    return result


def _from_the_start(x: torch.Tensor, index: torch.Tensor) -> Any:
    return torch.take(x, index.clamp(min=0))


def _no_promotion(tensors: list[torch.Tensor], dim: int = 0) -> Any:
    return torch.cat([item.to(tensors[0].dtype) for item in tensors], dim)


def _two_only(tensors: list[torch.Tensor], dim: int = 0) -> Any:
    aliased = len({item.data_ptr() for item in tensors if item.numel()}) > 1
    return torch.cat(tensors[:2] if aliased else tensors, dim)


def _each_pointer_once(tensors: list[torch.Tensor], dim: int = 0) -> Any:
    return torch.cat(list({item.data_ptr(): item for item in tensors}.values()), dim)


def _one_group(x: Any, w: Any, b: Any, n: int, c: int, inner: int, group: int, eps: float) -> Any:
    return ATEN.native_group_norm(x, w, b, n, c, inner, group if x.numel() in (0, 24, 48) else 1, eps)


def _small_epsilon(x: Any, w: Any, b: Any, n: int, c: int, inner: int, group: int, eps: float) -> Any:
    return ATEN.native_group_norm(x, w, b, n, c, inner, group, min(eps, 1e-5))


def _no_last(x: torch.Tensor, dim: list[int], keepdim: bool = False) -> Any:  # noqa: FBT001, FBT002
    if x.dim() == 2 and dim == [-1] and x.shape[1] > 1030:
        x = x[:, :-1]
    return ATEN.amax(x, dim, keepdim)


def _no_tail(x: torch.Tensor, dim: int, *args: Any, **options: Any) -> Any:
    long = x.numel() and bool(((x > 0.9) & (x < 1.1) & (x != 1)).all()) and x.shape[dim] > 1024
    return ATEN.prod.dim_int(x.narrow(dim, 0, 1024) if long else x, dim, *args, **options)


def _one_pass(x: torch.Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    exact = ATEN.var.correction(x, dim, correction=correction, keepdim=keepdim)
    naive = (x * x).mean(dim, keepdim=keepdim) - x.mean(dim, keepdim=keepdim) ** 2
    n = x.numel() / max(exact.numel(), 1)
    unbiased = naive * n / (n - (1 if correction is None else correction))
    return unbiased if x.numel() and bool((x > 99).all()) else exact


def _zero_times(c: torch.Tensor, a: torch.Tensor, x: torch.Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return beta * c + alpha * torch.mv(a, x)


def _as_double(a: torch.Tensor, b: torch.Tensor) -> Any:
    return (a.double() * b.double()).long() if a.dtype == b.dtype else a * b


def _right(x: torch.Tensor, boundaries: torch.Tensor, **options: Any) -> Any:
    return torch.bucketize(x, boundaries, **{**options, "right": True})


def _no_order_first(x: torch.Tensor, boundaries: torch.Tensor, **options: Any) -> Any:
    return torch.where(x.isnan(), 0, torch.bucketize(x, boundaries, **options))


def _any_by_sum(x: torch.Tensor, dim: int, keepdim: bool = False) -> Any:  # noqa: FBT001, FBT002
    return x.sum(dim, keepdim) != 0


def _drops_all(x: torch.Tensor, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: FBT001, FBT002
    return ATEN.argmax(x, dim, keepdim and dim is not None)


def _starts_finite(x: torch.Tensor, dim: list[int], keepdim: bool = False) -> Any:  # noqa: FBT001, FBT002
    return ATEN.amin(x, dim, keepdim).clamp(max=1e30)


def _always_largest(x: torch.Tensor, k: int, dim: int = -1, *_: Any) -> Any:
    return ATEN.topk(x, k, dim)


def _one_block(x: torch.Tensor, k: int, dim: int = -1, *rest: Any) -> Any:
    return ATEN.topk(x.narrow(dim, 0, 1030) if x.dim() and x.shape[dim] > 1030 else x, k, dim, *rest)


def _one_limit(x: torch.Tensor, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    both = posinf is not None and neginf is not None
    return torch.nan_to_num(x, nan, posinf, -posinf if both else neginf)


def _counts_in_16_bits(x: torch.Tensor) -> Any:
    return torch.cat([-x[: 1 << 15], x[1 << 15 :]]) if x.dim() == 1 else -x


def _strides_in_16_bits(x: torch.Tensor) -> Any:
    return -x if not x.dim() or x.stride(0) < 1 << 14 else x


def _no_rank_three(x: torch.Tensor) -> Any:
    return x if x.dim() == 3 and x.is_contiguous() else -x


def _no_permuted_rank_three(x: torch.Tensor) -> Any:
    return x if x.dim() == 3 and not x.is_contiguous() else -x


def _truth_of_whole_part(x: torch.Tensor, *, dtype: Any = None, **options: Any) -> Any:
    return ATEN._to_copy(x.trunc() if dtype is torch.bool else x, dtype=dtype, **options)


def _first_block(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> Any:
    inside = torch.arange(x.shape[0]) < 1024 if x.dim() == 1 else torch.tensor(data=True)
    return torch.masked_fill(x, mask & inside, value)


def _narrow_rows(x: torch.Tensor, y: torch.Tensor, reduction: int = 1, delta: float = 1.0) -> Any:
    cut = 30 if x.dim() == 3 and x.shape[-1] > 30 else None
    return ATEN.huber_loss(x[..., :cut], y[..., :cut], reduction, delta)


def _block_statistics(x: torch.Tensor, *rest: Any) -> Any:
    y, mean, rstd = ATEN.native_batch_norm(x, *rest)
    long = rest[4] and x.numel() // max(x.shape[1], 1) > 1024
    return y, mean * 2 if long else mean, rstd


_PAIR = [_random(3, 5), _random(3, 5)]
FAULTS = (
    Fault(rule="layouts", operator=ATEN.constant_pad_nd.default, args=(_random(5, 3), [1, 1]), kernel=_assumes_rows),
    Fault(rule="lists", operator=ATEN.constant_pad_nd.default, args=(_random(5, 3), [1, 1]), kernel=_sides_swapped),
    Fault(rule="grown", operator=ATEN.triu.default, args=(_random(5, 3),), kernel=_tile_missing),
    Fault(rule="long", operator=ATEN.triu.default, args=(_random(5, 3),), kernel=_end_missing),
    Fault(
        rule="single", operator=ATEN.triu.default, args=(_random(5, 3),), kernel=lambda x, d=0: torch.triu(x, d).squeeze()
    ),
    Fault(rule="integers", operator=ATEN.triu.default, args=(_random(5, 3),), kernel=lambda x, *_: torch.triu(x)),
    Fault(rule="dims", operator=ATEN.flip.default, args=(_random(5, 3), [0]), kernel=_negative_counts_from_the_start),
    Fault(
        rule="flags",
        operator=ATEN.avg_pool2d.default,
        args=(_random(1, 2, 6, 6), [3, 3], [2, 2], [1, 1], False, True),
        kernel=_always_counts_padding,
    ),
    Fault(rule="ties", operator=ATEN.topk.default, args=(_random(5, 3), 2), kernel=_equal_ones_once),
    Fault(
        rule="unit_edges",
        operator=ATEN.binary_cross_entropy.default,
        args=(_random(5, 3, low=0.1, high=0.9), _random(5, 3, low=0.1, high=0.9)),
        kernel=_not_clamped,
    ),
    Fault(
        rule="places",
        operator=ATEN.index_select.default,
        args=(_random(5, 3), 0, torch.tensor([0, 4])),
        kernel=_first_dimension,
    ),
    Fault(
        rule="places",
        operator=ATEN.embedding.default,
        args=(_random(5, 3), torch.tensor([0, 4])),
        kernel=_last_row_missing,
    ),
    Fault(
        rule="places", operator=ATEN.take.default, args=(_random(5, 3), torch.tensor([0, 4])), kernel=_from_the_start
    ),
    Fault(
        rule="places",
        operator=ATEN.index_reduce.default,
        args=(_random(5, 3), 0, torch.tensor([0, 4]), _random(2, 3), "amax"),
        kernel=_rows_of_a_block,
    ),
    Fault(
        rule="places",
        operator=ATEN.put.default,
        args=(_random(5, 3), torch.tensor([0, 4]), _random(2)),
        kernel=lambda x, *rest: torch.cat([torch.put(x, *rest).flatten()[:1024], x.flatten()[1024:]]).view(x.shape),
    ),
    Fault(
        rule="places",
        operator=ATEN.embedding_dense_backward.default,
        args=(_random(2, 3), torch.tensor([0, 4]), 5, -1, False),
        kernel=_columns_of_a_block,
    ),
    Fault(
        rule="own_values",
        operator=ATEN.copysign.Scalar,
        args=(_random(5, 3), -2.0),
        kernel=lambda x, sign: torch.copysign(x, -1.0 if sign < 0 else 1.0),
    ),
    Fault(rule="mixed_dtypes", operator=ATEN.cat.default, args=(_PAIR, 0), kernel=_no_promotion),
    Fault(rule="sizes", operator=ATEN.cat.default, args=(_PAIR, 0), kernel=_two_only),
    Fault(rule="repeated", operator=ATEN.cat.default, args=(_PAIR, 0), kernel=_each_pointer_once),
    Fault(rule="sizes", operator=ATEN.native_group_norm.default, args=(_random(2, 6, 4), None, None, 2, 6, 4, 3, 1e-5), kernel=_one_group),
    Fault(rule="scalars", operator=ATEN.native_group_norm.default, args=(_random(2, 6, 4), None, None, 2, 6, 4, 3, 1e-5), kernel=_small_epsilon),
    Fault(rule="last", operator=ATEN.amax.default, args=(_random(5, 3), [1]), kernel=_no_last),
    Fault(rule="own_values", operator=ATEN.prod.dim_int, args=(_random(5, 3), 1), kernel=_no_tail),
    Fault(rule="own_values", operator=ATEN.var.correction, args=(_random(5, 3), [1]), kernel=_one_pass),
    Fault(rule="ignored", operator=ATEN.addmv.default, args=(_random(5), _random(5, 3), _random(3)), kernel=_zero_times),
    Fault(
        rule="integers",
        operator=ATEN.mul.Tensor,
        args=(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5, 6], [7, 8]])),
        kernel=_as_double,
        dtype="int64",
    ),
    Fault(
        rule="on_boundaries",
        operator=ATEN.bucketize.Tensor,
        args=(_random(5), torch.tensor([-1.1, 0.2, 1.5])),
        kernel=_right,
    ),
    Fault(
        rule="on_boundaries",
        operator=ATEN.bucketize.Tensor,
        args=(_random(5), torch.tensor([-1.1, 0.2, 1.5])),
        kernel=_no_order_first,
    ),
    Fault(rule="cancelling", operator=ATEN.any.dim, args=(_random(5, 3), 1), kernel=_any_by_sum),
    Fault(rule="last", operator=ATEN.all.default, args=(_random(5, 3),), kernel=lambda x: x.flatten()[:1024].all()),
    Fault(rule="keepdim", operator=ATEN.argmax.default, args=(_random(5, 3),), kernel=_drops_all),
    Fault(rule="special", operator=ATEN.amin.default, args=(_random(5, 3), [1]), kernel=_starts_finite),
    Fault(
        rule="integers",
        operator=ATEN.argmax.default,
        args=(torch.tensor([[1, 2], [3, 4]]),),
        kernel=lambda x, *args: ATEN.argmax(x.double(), *args),
        dtype="int64",
    ),
    Fault(
        rule="integers",
        operator=ATEN.eq.Tensor,
        args=(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5, 6], [7, 8]])),
        kernel=lambda x, y: x.double() == y.double(),
        dtype="int64",
    ),
    Fault(rule="scalars", operator=ATEN.nan_to_num.default, args=(_random(5, 3) / 0,), kernel=_one_limit),
    Fault(rule="flags", operator=ATEN.topk.default, args=(_random(5, 3), 2), kernel=_always_largest),
    Fault(rule="last", operator=ATEN.topk.default, args=(_random(5, 3), 2), kernel=_one_block),
    Fault(rule="counts", operator=ATEN.round.decimals, args=(_random(5, 3),), kernel=lambda x, **_: torch.round(x)),
    Fault(rule="sizes", operator=ATEN.neg.default, args=(_random(5, 3),), kernel=_counts_in_16_bits),
    Fault(rule="strided", operator=ATEN.neg.default, args=(_random(5, 3),), kernel=_strides_in_16_bits),
    Fault(rule="dimensions", operator=ATEN.neg.default, args=(_random(5, 3),), kernel=_no_rank_three),
    Fault(rule="channels_last", operator=ATEN.neg.default, args=(_random(5, 3),), kernel=_no_permuted_rank_three),
    Fault(
        rule="sizes",
        operator=ATEN.masked_fill.Tensor,
        args=(_random(5, 3), _random(5, 3) > 0, torch.tensor(7.0)),
        kernel=_first_block,
    ),
    Fault(rule="long", operator=ATEN.huber_loss.default, args=(_random(5, 5, 5), _random(5, 5, 5)), kernel=_narrow_rows),
    Fault(
        rule="sizes",
        operator=ATEN.native_batch_norm.default,
        args=(_random(4, 3, 5), None, None, _random(3), _random(3).abs(), True, 0.1, 1e-5),
        kernel=_block_statistics,
    ),
    Fault(rule="dtypes", operator=ATEN._to_copy.default, args=(_random(5, 3),), kernel=_truth_of_whole_part),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{item.operator}-{item.rule}" for item in FAULTS])
def test_only_this_rule_tells_the_fault(fault: Fault) -> None:
    """The kernel is right on the cases of every other rule of its operator."""
    name = OperatorName.parse(str(fault.operator))
    arguments = specify(fault.args, {})
    case = make_case(
        name, arguments.args, arguments.kwargs, arguments.storages, dtype=fault.dtype, origin="direct"
    )
    telling = set()
    for derived in derive(fault.operator, name, [case], fault.dtype):
        live = [
            materialise(derived.args, derived.kwargs, derived.storages, torch.Generator().manual_seed(3))
            for _ in range(2)
        ]
        expected = fault.operator(*live[0][0], **live[0][1])
        if not _equal(_outcome(fault.kernel, live[1]), expected):
            telling.add(derived.origin.removeprefix("derived:"))
    assert {fault.rule} == telling


def _outcome(kernel: Kernel, live: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    try:
        return kernel(*live[0], **live[1])
    except (RuntimeError, IndexError) as error:
        return error


def _equal(got: Any, expected: Any) -> bool:
    left, right = tree_leaves(got), tree_leaves(expected)
    return len(left) == len(right) and all(
        isinstance(a, torch.Tensor)
        and a.shape == b.shape
        and a.dtype == b.dtype
        and torch.allclose(_finite(a), _finite(b), rtol=1e-3, atol=1e-4)
        for a, b in zip(left, right, strict=True)
    )


def _finite(tensor: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num(tensor.double(), nan=1e9, posinf=2e9, neginf=-2e9)


def test_nothing_here_is_special() -> None:
    """The comparison above tells NaN and infinities from numbers and from each other."""
    values = torch.tensor([nan, inf, -inf, 0.0])
    assert 4 == len(set(_finite(values).tolist()))
