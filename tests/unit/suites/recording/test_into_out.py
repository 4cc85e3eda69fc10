"""Cases of overloads that write to ``out``: places for the result, each with a fault that only it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
import torch

from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.recording.derive import derive
from kagent_bench.suites.recording.into_out import without_out, writes_to_out
from kagent_bench.suites.recording.replay import materialise
from kagent_bench.suites.recording.specification import specify

if TYPE_CHECKING:
    from kagent_bench.model.case import Case

ATEN: Any = torch.ops.aten
Kernel: TypeAlias = "Callable[..., Any]"
Place: TypeAlias = "Callable[[list[torch.Tensor], torch.Tensor], bool]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A kernel with one fault, and where the result must go to see it."""

    what: str
    operator: Any
    args: tuple[Any, ...]
    kernel: Kernel
    place: Place
    """Says of the tensor arguments and ``out`` whether they show the fault."""
    aliased: bool = False
    """Whether the recorded call writes over its first argument, as PyTorch's own calls of ``addmm.out`` do."""


def _adds_to_it(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return out.copy_(a @ b + torch.nan_to_num(out))


def _zero_times_it(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return out.mul_(0).add_(a @ b)


def _as_if_dense(x: torch.Tensor, *over: Any, out: torch.Tensor) -> torch.Tensor:
    y = torch.amax(x, *over)
    out.as_strided(y.shape, y.stride()).copy_(y)
    return out


def _not_below_it(x: torch.Tensor, *over: Any, out: torch.Tensor) -> torch.Tensor:
    return out.copy_(torch.fmax(torch.amax(x, *over), out))


def _cleared_first(x: torch.Tensor, y: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    out.zero_()
    return out.add_(torch.mul(x, y))


def _loses_offset(x: torch.Tensor, y: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    quotient = torch.div(x, y)
    start = 0 if out.stride() != quotient.stride() else out.storage_offset()
    out.as_strided(out.shape, out.stride(), start).copy_(quotient)
    return out


def _in_place(
    c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1, out: torch.Tensor
) -> torch.Tensor:
    del c
    return out.addmm_(a, b, beta=beta, alpha=alpha)


def _holds_numbers(_: list[torch.Tensor], out: torch.Tensor) -> bool:
    return bool(out.isfinite().any())


def _holds_nan(_: list[torch.Tensor], out: torch.Tensor) -> bool:
    return bool(out.isnan().any())


def _is_not_dense(_: list[torch.Tensor], out: torch.Tensor) -> bool:
    return not out.is_contiguous() or out.storage_offset() > 0


def _is_first(given: list[torch.Tensor], out: torch.Tensor) -> bool:
    return out.data_ptr() == given[0].data_ptr()


def _is_padded(_: list[torch.Tensor], out: torch.Tensor) -> bool:
    return out.storage_offset() > 0 and not out.is_contiguous()


def _is_elsewhere(given: list[torch.Tensor], out: torch.Tensor) -> bool:
    return out.data_ptr() != given[0].data_ptr()


_SOURCE = torch.Generator().manual_seed(0)
_A, _B, _C = (torch.randn(shape, generator=_SOURCE) for shape in ((3, 5), (5, 4), (3, 4)))
FAULTS = (
    Fault(what="adds", operator=ATEN.mm.out, args=(_A, _B), kernel=_adds_to_it, place=_holds_numbers),
    Fault(what="zero times NaN", operator=ATEN.mm.out, args=(_A, _B), kernel=_zero_times_it, place=_holds_nan),
    Fault(what="dense", operator=ATEN.amax.out, args=(_A, [1]), kernel=_as_if_dense, place=_is_not_dense),
    Fault(what="larger before", operator=ATEN.amax.out, args=(_A, [1]), kernel=_not_below_it, place=_holds_numbers),
    Fault(what="cleared first", operator=ATEN.mul.out, args=(_A, _A + 4), kernel=_cleared_first, place=_is_first),
    Fault(what="offset lost", operator=ATEN.div.out, args=(_A, _A.abs() + 1), kernel=_loses_offset, place=_is_padded),
    Fault(what="in place", operator=ATEN.addmm.out, args=(_C, _A, _B), kernel=_in_place, place=_is_elsewhere, aliased=True),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{item.operator}-{item.what}" for item in FAULTS])
def test_only_this_place_tells_the_fault(fault: Fault) -> None:
    """The kernel is right on the recorded call, and on derived ones wherever else the result goes."""
    recorded = _recorded(fault.operator, fault.args, aliased=fault.aliased)
    name = OperatorName.parse(str(fault.operator))
    told = [_told(fault, case) for case in derive(fault.operator, name, [recorded], "float32")]
    assert not _told(fault, recorded)[0]
    assert any(wrong for wrong, _ in told)
    assert all(shows for wrong, shows in told if wrong)


def _recorded(operator: Any, args: tuple[Any, ...], *, aliased: bool) -> Case:
    """Return a call as PyTorch makes it: into memory of the right shape, with nothing in it."""
    plain = without_out(operator)
    assert plain is not None
    out = args[0] if aliased else torch.zeros_like(plain(*args))
    arguments = specify(args, {"out": out})
    name = OperatorName.parse(str(operator))
    return make_case(
        name, arguments.args, arguments.kwargs, arguments.storages, dtype="float32", origin="backward"
    )


def _told(fault: Fault, case: Case) -> tuple[bool, bool]:
    """Return whether the kernel is wrong on a case, and whether the case has the place that shows it."""
    live = [
        materialise(case.args, case.kwargs, case.storages, torch.Generator().manual_seed(3)) for _ in range(2)
    ]
    (args, kwargs), (own_args, own_kwargs) = live
    out = kwargs["out"]
    shows = fault.place([item for item in args if isinstance(item, torch.Tensor)], out)
    fault.operator(*args, **kwargs)
    fault.kernel(*own_args, **own_kwargs)
    right = torch.allclose(out.double(), own_kwargs["out"].double(), rtol=1e-3, atol=1e-4, equal_nan=True)
    return not right, shows


def test_what_an_overload_computes() -> None:
    """The overload without ``out`` has the same arguments; others with a name like it have not."""
    assert ATEN.div.Tensor == without_out(ATEN.div.out)
    assert ATEN.div.Tensor_mode == without_out(ATEN.div.out_mode)
    assert ATEN.amax.default == without_out(ATEN.amax.out)
    assert writes_to_out(ATEN.mm.out)
    assert not writes_to_out(ATEN.mm.default)


def test_the_result_fits() -> None:
    """Every derived call has an ``out`` of the result's shape, so that nothing is resized."""
    recorded = _recorded(ATEN.amax.out, (_A, [1]), aliased=False)
    for case in derive(ATEN.amax.out, OperatorName.parse("amax.out"), [recorded], "float32"):
        args, kwargs = materialise(case.args, case.kwargs, case.storages, torch.Generator().manual_seed(3))
        assert torch.amax(*args).shape == kwargs["out"].shape
