"""Runs generated kernels against eager in Triton's interpreter; a child process of test_kab_baseline_kernels.

Prints one line for each disagreement and exits with their number.
"""

from __future__ import annotations

import itertools
import os
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402 - after the environment
import torch  # noqa: E402

from kab_baseline import registry  # noqa: E402
from kagent_bench.evaluate.candidate.triton_hooks import quicken_interpreter  # noqa: E402
from kagent_bench.model.names import OperatorName  # noqa: E402

ULPS = {torch.float16: 4, torch.bfloat16: 4, torch.float32: 32, torch.float64: 64}
SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.0, -1.0)

UNARY = "abs neg relu exp expm1 log log1p tanh sigmoid silu gelu erf erfc sinh asinh atan floor round sqrt rsqrt sign"
BINARY = "add.Tensor sub.Tensor mul.Tensor div.Tensor floor_divide remainder.Tensor maximum eq.Tensor lt.Tensor pow.Tensor_Tensor"
ROWS = (
    "sum.dim_IntList mean.dim amax amin logsumexp linalg_vector_norm var.correction std.correction any.dims"
)
ALONG = "argmax cumsum cumprod prod.dim_int max.dim"
Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def layouts(dtype: torch.dtype) -> Iterator[torch.Tensor]:
    """Yield tensors of several sizes and layouts: block edges, 0-d, empty, transposed, strided, offset."""
    generator = torch.Generator().manual_seed(0)

    def make(*shape: int) -> torch.Tensor:
        values = torch.randn(shape, generator=generator) * 3
        return values.to(dtype) if dtype.is_floating_point else (values * 4).to(dtype)

    yield make(1025)
    yield make()
    yield make(0, 3)
    yield make(5, 7).t()
    yield make(4, 3, 10)[:, 1:, ::2]
    if dtype == torch.float32:
        yield make(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    if dtype.is_floating_point:
        special = make(3, 9)
        special.view(-1)[: len(SPECIAL)] = torch.tensor(SPECIAL, dtype=dtype)
        yield special


def indexed(x: torch.Tensor) -> Iterator[Call]:
    """Yield calls that index a tensor: by integers in several shapes, from the end, in dimensions apart, by masks."""
    if not x.dim() or not x.numel():
        return
    first, last = torch.tensor([[0, -1, 0]]), torch.tensor([[-1], [0]])
    lists: list[list[torch.Tensor | None]] = [
        [first],
        [x > 0],
        [x.select(-1, 0) > 0] if x.dim() > 1 else [last],
    ]
    if x.dim() > 1:
        lists += [[first, last], [None, last.int()]]
    if x.dim() > 2:
        lists.append([first, None, last])
    for indices in lists:
        yield "index.Tensor", (x, indices), {}
        yield "index_put", (x, indices, x.new_ones(()), True), {}
        yield "index_put_", (x.clone(), indices, x.new_ones(())), {}
    if x.dim() == 1:  # the interpreter takes long for the one long row
        return
    places = torch.arange(x.numel()).view(x.shape) % x.shape[0]
    for how, include in itertools.product(("sum", "prod", "mean", "amax", "amin"), (True, False)):
        yield "scatter_reduce.two", (x, 0, places, x.flip(0), how), {"include_self": include}


def calls() -> Iterator[Call]:
    """Yield operator calls; those that eager refuses are left out later."""
    dtypes = (torch.float32, torch.float16, torch.int64, torch.bool)
    for dtype in dtypes:
        for x in layouts(dtype):
            for name in UNARY.split():
                yield name, (x,), {}
            last = x.shape[-1] if x.dim() else 1
            others: list[Any] = [x.flip(-1) if x.dim() else x, x.new_ones(last), 3, 0.5]
            for name, other in itertools.product(BINARY.split(), others):
                yield name, (x, other), {}
            for name, dim in itertools.product(ROWS.split(), ([-1], [0], [0, -1])):
                yield name, (x, 2, dim) if name == "linalg_vector_norm" else (x, dim), {}
            for name, place in itertools.product(ALONG.split(), (0, -1)):
                yield name, (x, place), {}
            for name in ("_softmax", "_log_softmax"):
                yield name, (x, -1, False), {}
            yield "add_.Tensor", (x.clone(), 2), {"alpha": 3}
            yield "clamp", (x, -1, 2), {}
            yield "where.self", (x > 0, x, torch.zeros((), dtype=dtype)), {}
            yield "cat", ([x, x], 0), {}
            yield "flip", (x, [0]), {}
            for largest_first in (False, True):
                yield "sort.stable", (x,), {"stable": True, "dim": 0, "descending": largest_first}
            yield from indexed(x.contiguous())
        a, b = torch.arange(70 * 33).view(70, 33) % 7, torch.arange(33 * 65).view(33, 65) % 5
        yield "mm", (a.to(dtype), b.to(dtype)), {}
        yield "addmm", (b[0].to(dtype), a.to(dtype), b.to(dtype)), {"beta": 2, "alpha": 3}


def clone(value: Any) -> Any:
    """Copy a tensor with its strides."""
    if isinstance(value, list):
        return [clone(item) for item in value]
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)


def widen(value: Any) -> Any:
    """Convert floating tensors to float64."""
    if isinstance(value, list):
        return [widen(item) for item in value]
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else clone(value)


def disagreement(got: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor) -> str:
    """Return what differs between a kernel's result and eager's, empty for nothing."""
    metadata = (got.dtype, got.shape), (eager.dtype, eager.shape)
    if metadata[0] != metadata[1]:
        return f"metadata {metadata}"
    if any(
        size > 1 and one != two
        for size, one, two in zip(got.shape, got.stride(), eager.stride(), strict=True)
    ):
        return f"strides {got.stride()}, eager {eager.stride()}"
    if not eager.is_floating_point():
        return "" if torch.equal(got, eager) else "values"
    wide, reference, by_eager = got.double(), exact.double(), eager.double()
    scale = reference.abs().nan_to_num(0, 0, 0).max() if reference.numel() else 0
    unit = torch.finfo(eager.dtype)
    near = (wide - reference).abs() <= ULPS[eager.dtype] * unit.eps * (
        reference.abs() + 0.01 * scale
    ) + unit.tiny
    near |= (wide - reference).abs() <= 4 * (by_eager - reference).abs()
    same = (
        (wide == by_eager) | (wide.isnan() & by_eager.isnan()) | (wide == reference.to(eager.dtype).double())
    )
    return (
        ""
        if (near | same).all()
        else f"values {got.flatten()[:5].tolist()}, eager {eager.flatten()[:5].tolist()}"
    )


def load(name: OperatorName) -> Any:
    """Write and load the kernel of an operator."""
    source = registry.write(name)
    if source is None:
        raise LookupError(str(name))
    path = os.path.join(sys.argv[1], f"{name.kernel_stem}.py")  # noqa: PTH118 - triton wants the source on disk
    with open(path, "w", encoding="utf-8") as stream:  # noqa: PTH123
        stream.write(source)
    module = types.ModuleType(name.kernel_stem)
    exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102 - text of the generator
    return getattr(module, name.kernel_function)


def main() -> int:
    """Compare every call; return the number of disagreements."""
    np.seterr(all="ignore")
    torch.set_num_threads(1)
    quicken_interpreter()
    kernels: dict[str, Any] = {}
    n_compared = n_bad = 0
    for text, args, kwargs in calls():
        name = OperatorName.parse(text)
        overload = getattr(getattr(torch.ops.aten, name.base), name.overload)
        try:
            eager = overload(*clone(list(args)), **kwargs)
            exact = overload(*widen(list(args)), **kwargs)
        except (RuntimeError, IndexError):
            continue
        kernel = kernels.setdefault(text, None) or kernels.setdefault(text + "!", load(name))
        kernels[text] = kernel
        given = clone(list(args))
        got = kernel(*given, **kwargs)
        n_compared += 1
        if name.base.endswith("_") and got is not given[0]:
            n_bad += 1
            print(text, "does not return its argument")  # noqa: T201 - a script
        pairs = zip(got, eager, exact, strict=True) if isinstance(eager, tuple) else [(got, eager, exact)]
        for one, two, three in pairs:
            message = disagreement(one, two, three)
            if message:
                n_bad += 1
                shown = [
                    (tuple(item.shape), item.stride(), item.dtype) if isinstance(item, torch.Tensor) else item
                    for item in args
                ]
                print(text, shown, message)  # noqa: T201 - a script
    print(n_compared, "compared")  # noqa: T201 - a script
    return n_bad if n_compared > 1000 else 1


if __name__ == "__main__":
    sys.exit(min(main(), 100))
