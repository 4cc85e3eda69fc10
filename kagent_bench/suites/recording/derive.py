"""Derives cases from an operator's recorded ones by the rules of its class, as far as eager accepts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from kagent_bench.model.case import Case, TensorSpec
from kagent_bench.model.identity import make_case
from kagent_bench.suites.recording.kinds import operator_kind
from kagent_bench.suites.recording.rules import layouts, products, reductions, shapes, values
from kagent_bench.suites.recording.specification import Arguments
from kagent_bench.suites.recording.template import Template
from kagent_bench.suites.recording.trial import attempt

if TYPE_CHECKING:
    from kagent_bench.model.names import OperatorName

MAX_DERIVED = 40
"""Derived cases of one operator and dtype."""

MAX_TEMPLATES = 3
"""Recorded calls that rules start from: those that differ in which arguments they give."""

Rule: TypeAlias = "Callable[[Template], Iterator[Template]]"

POINTWISE: dict[str, Rule] = {
    "sizes": shapes.sizes,
    "special": values.special,
    "transposed": layouts.transposed,
    "broadcast": shapes.broadcast,
    "scalars": values.scalars,
    "mixed_dtypes": values.mixed_dtypes,
    "empty": shapes.empty,
    "expanded": layouts.expanded,
    "zero_dim": shapes.zero_dim,
    "aliased": layouts.aliased,
    "strided": layouts.strided,
    "ties": values.ties,
    "offset": layouts.offset,
    "dimensions": shapes.dimensions,
    "channels_last": layouts.channels_last,
}
"""Rules for elementwise operators; rules come in turn, so that every one has its share."""

ALONG_DIMENSIONS: dict[str, Rule] = {
    "sizes": reductions.sizes,
    "dims": reductions.dims,
    "layouts": reductions.layouts,
    "keepdim": reductions.keepdim,
    "special": reductions.special,
    "empty": reductions.empty,
    "ties": values.ties,
    "scalars": values.scalars,
    "out_dtypes": reductions.out_dtypes,
}
"""Rules for reductions, and for operators such as softmax and cumsum that keep the shape."""

KEEP_SHAPE = frozenset(
    {
        "_log_softmax",
        "_log_softmax_backward_data",
        "_softmax",
        "_softmax_backward_data",
        "cummax",
        "cummin",
        "cumprod",
        "cumsum",
        "flip",
        "log_softmax",
        "logcumsumexp",
        "softmax",
        "sort",
    }
)
"""Operators along a dimension that are no reductions."""

REDUCE_EVERYTHING = frozenset(
    {"all", "any", "argmax", "argmin", "max", "mean", "median", "min", "norm", "prod", "std", "sum", "var"}
)
"""Reductions that have an overload without ``dim``."""


def derive(operator: Any, name: OperatorName, recorded: Sequence[Case], dtype: str) -> list[Case]:
    """Return derived cases of an operator, none where no class of rules fits it.

    Args:
        operator: the live overload, to try cases out.
        name: its name.
        recorded: its cases, the most telling first.
        dtype: the sample dtype, which becomes the cases' own.
    """
    known = {case.id for case in recorded}
    found: list[Case] = []
    for rule, template in _in_turn(_drafts(operator, name, recorded)):
        case = make_case(
            name,
            template.arguments.args,
            template.arguments.kwargs,
            template.arguments.storages,
            dtype=dtype,
            origin=f"derived:{rule}",
        )
        if case.id not in known and _accepted(operator, template.arguments, rule):
            known.add(case.id)
            found.append(case)
            if len(found) == MAX_DERIVED:
                break
    return found


def rules_for(operator: Any, name: OperatorName) -> dict[str, Rule]:
    """Return the rules of an operator's class; a new class of operators is one more branch here."""
    if operator_kind(operator) != "value" or _writes_to_out(operator):
        return {}
    factors = products.FACTORS.get(name.base)
    if factors is not None:
        return {
            "sizes": partial(products.sizes, factors=factors),
            "layouts": partial(products.layouts, factors=factors),
            "empty": partial(products.empty, factors=factors),
            "addend": partial(products.addend, factors=factors),
            "special": partial(products.special, factors=factors),
            "scalars": values.scalars,
        }
    parameters = {argument.name for argument in operator._schema.arguments}  # noqa: SLF001
    if "keepdim" in parameters or name.base in KEEP_SHAPE | REDUCE_EVERYTHING:
        return ALONG_DIMENSIONS
    return POINTWISE if torch.Tag.pointwise in operator.tags else {}


def _writes_to_out(operator: Any) -> bool:
    """Whether results go to keyword arguments, which must then have exactly the result's shape."""
    arguments = operator._schema.arguments  # noqa: SLF001 - torch offers no other way to a schema
    return any(item.kwarg_only and item.alias_info is not None for item in arguments)


def _drafts(
    operator: torch._ops.OpOverload, name: OperatorName, recorded: Sequence[Case]
) -> list[Iterator[tuple[str, Template]]]:
    rules = rules_for(operator, name)
    templates = _templates(operator, recorded) if rules else []
    if name.base in products.FACTORS:
        n_factors = len(products.FACTORS[name.base])
        templates = [template for template in templates if len(template.tensors) == n_factors]
    return [_by_rule(rule, make, templates) for rule, make in rules.items()]


def _by_rule(rule: str, make: Rule, templates: list[Template]) -> Iterator[tuple[str, Template]]:
    for template in templates:
        for draft in make(template):
            yield rule, draft


def _in_turn(sources: list[Iterator[tuple[str, Template]]]) -> Iterator[tuple[str, Template]]:
    """Yield from each source in turn until all are used up."""
    while sources:
        left = []
        for source in sources:
            for item in source:
                yield item
                left.append(source)
                break
        sources = left


def _templates(operator: Any, recorded: Sequence[Case]) -> list[Template]:
    """Return recorded calls to start from: one of each set of given arguments, those with elements first."""
    schema = operator._schema  # noqa: SLF001
    names = tuple(item.name for item in schema.arguments)
    numbers = tuple(item.name for item in schema.arguments if str(item.type) in {"number", "float"})
    lists = tuple(item.name for item in schema.arguments if "List[int]" in str(item.type))
    chosen: dict[object, Template] = {}
    for case in sorted(recorded, key=lambda case: not _has_elements(case)):
        arguments = Arguments(args=case.args, kwargs=case.kwargs, storages=case.storages)
        template = Template(arguments=arguments, names=names, numbers=numbers, lists=lists)
        if template.tensors and not _has_tensor_list(case):
            pattern = (len(case.args), tuple(slot for slot, _ in template.tensors), dict(case.kwargs).keys())
            chosen.setdefault(repr(pattern), template)
    by_tensors = sorted(chosen.values(), key=lambda item: -len(item.tensors))
    return by_tensors[:MAX_TEMPLATES]


def _has_elements(case: Case) -> bool:
    return all(storage.numel > 1 for storage in case.storages)


def _has_tensor_list(case: Case) -> bool:
    given = [*case.args, *(value for _, value in case.kwargs)]
    return any(isinstance(v, tuple) and any(isinstance(i, TensorSpec) for i in v) for v in given)


def _accepted(operator: Any, arguments: Arguments, rule: str) -> bool:
    outputs = attempt(operator, arguments, seed=1)
    if outputs is None:
        return False
    return rule == "special" or not any(output.all_nan for output in outputs)
