"""Derives cases from an operator's recorded ones by the rules of its class, as far as eager accepts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from kagent_bench.model.case import Case, LiteralValues, TensorSpec
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.recording.elements import is_floating
from kagent_bench.suites.recording.into_out import into_out, stripped, without_out, writes_to_out
from kagent_bench.suites.recording.kinds import ACTIVATIONS, WITH_LIMITS, is_elementwise, operator_kind
from kagent_bench.suites.recording.rules import (
    general,
    indexing,
    joined,
    larger,
    layouts,
    normalisations,
    products,
    reductions,
    shapes,
    values,
)
from kagent_bench.suites.recording.specification import Arguments
from kagent_bench.suites.recording.template import Slot, Template, tensors_of
from kagent_bench.suites.recording.trial import attempt, heeds_layout

if TYPE_CHECKING:
    import torch

MAX_DERIVED = 40
"""Derived cases of one operator and dtype."""

MAY_BE_NAN = frozenset({"empty", "single", "special"})
"""Rules under which a result of nothing but NaN is what there is to get right."""

MAX_TEMPLATES = 5
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
    "integers": values.large_integers,
    "counts": general.integers,
    "flags": general.flags,
}
"""Rules for elementwise operators; rules come in turn, so that every one has its share."""

UNLIKE = frozenset({"broadcast", "mixed_dtypes"})
"""Rules under which tensors are unlike each other."""

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
    "last": reductions.last,
    "integers": reductions.large_integers,
    "counts": general.integers,
    "flags": general.flags,
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
        "log_softmax",
        "logcumsumexp",
        "softmax",
        "sort",
        "topk",
    }
)
"""Operators along a dimension that are no reductions of everything in it."""

ARGUMENTS: dict[str, Rule] = {
    "layouts": general.layouts,
    "integers": general.integers,
    "lists": general.lists,
    "flags": general.flags,
    "scalars": values.scalars,
    "single": general.single,
}
"""Rules that leave the sizes of tensors alone but for those of size one and zero."""

SAFE: dict[str, Rule] = {
    "layouts": general.layouts,
    "integers": general.integers,
    "flags": general.flags,
    "scalars": values.scalars,
}
"""Rules under which no index points elsewhere: not every operator of PyTorch looks before it leaps."""

JUDGED = frozenset({"data_dependent", "value"})
"""Kinds of operator whose values are compared."""

UNCHECKED = (
    "_embedding_bag",
    "_fft",
    "_native_batch_norm",
    "_pdist_backward",
    "native_batch_norm_backward",
    "nll_loss_backward",
    "_scaled_dot_product",
    "_segment_reduce",
    "segment_reduce",
)
"""First letters of operators that read out of bounds, or divide by zero, rather than raise."""

UNCHECKED_SIZES = ("batch_norm_backward", "native_group_norm_backward")
"""First letters of operators that do so when sizes do not fit together."""

MAX_OUTPUT_ELEMENTS = 1 << 16
"""Elements of an output, which a small input can make as many as it likes."""

HALVED = frozenset({"glu_backward"})
"""Operators with a dimension of half a size, which does not follow where that becomes one or zero."""

GENERAL: dict[str, Rule] = {
    **ARGUMENTS,
    "grown": general.grown,
    "long": general.long,
    "dims": general.dims,
    "ties": general.ties,
    "unit_edges": general.unit_edges,
    "dtypes": general.dtypes,
}
"""Rules for operators of no class of their own."""

NORMALISE: dict[str, Rule] = {
    "batch_norm": normalisations.channels,
    "native_batch_norm": normalisations.channels,
    "native_group_norm": normalisations.groups,
    "native_layer_norm": normalisations.layers,
    "native_layer_norm_backward": normalisations.layers,
}
"""Normalisations, with the rule for their sizes."""

BOUNDARIES = {"bucketize": "boundaries", "searchsorted": "sorted_sequence"}
"""Operators that sort values into intervals, and the parameter with their ends."""

OWN_VALUES: dict[str, dict[str, Rule]] = {
    "all": {"own_values": partial(reductions.few, of=0)},
    "any": {"own_values": partial(reductions.few, of=1), "cancelling": reductions.cancelling},
    "copysign": {"own_values": values.negative_zero},
    "cumprod": {"own_values": reductions.near_one},
    "nan_to_num": {"own_values": values.special_numbers},
    "prod": {"own_values": reductions.near_one},
    **{name: {"own_values": reductions.far_from_zero} for name in ("std", "std_mean", "var", "var_mean")},
}
"""Operators that are only seen to be right on values of a kind."""

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
    """Return the rules for an operator: calls of its own, and those of its class."""
    if operator_kind(operator) not in JUDGED or writes_to_out(operator):
        return {}
    base = name.base.removesuffix("_")
    if base in larger.WITHOUT_TENSORS:
        return {"longer": partial(larger.longer, base=base)}
    own: dict[str, Rule] = {"larger": partial(larger.larger, base=base)} if base in larger.CALLS else {}
    return own if base.startswith(UNCHECKED) else {**own, **_rules_of_class(operator, name)}


def _rules_of_class(operator: Any, name: OperatorName) -> dict[str, Rule]:
    """Return the rules of an operator's class; a new class of operators is one more branch here."""
    factors = products.FACTORS.get(name.base)
    if factors is not None:
        return {
            "sizes": partial(products.sizes, factors=factors),
            "layouts": partial(products.layouts, factors=factors),
            "empty": partial(products.empty, factors=factors),
            "addend": partial(products.addend, factors=factors),
            "special": partial(products.special, factors=factors),
            "ignored": partial(products.ignored, factors=factors),
            "scalars": values.scalars,
        }
    base = name.base.removesuffix("_")
    if is_elementwise(operator):
        return {**_pointwise(base), **OWN_VALUES.get(base, {})}
    parameters = {argument.name for argument in operator._schema.arguments}  # noqa: SLF001
    if "keepdim" in parameters or base in KEEP_SHAPE | REDUCE_EVERYTHING:
        return {**ALONG_DIMENSIONS, **OWN_VALUES.get(base, {})}
    if base.startswith(UNCHECKED_SIZES):
        return SAFE
    if base in NORMALISE:
        fitting = {
            rule: make
            for rule, make in SAFE.items()
            if rule != "flags" or base == "native_layer_norm_backward"
        }
        return {"sizes": NORMALISE[base], **fitting}
    if base in BOUNDARIES:
        return {"on_boundaries": partial(general.on_boundaries, boundaries=BOUNDARIES[base]), **GENERAL}
    if parameters & general.INDICES - {"target"}:
        return {**_indexing(base), **SAFE}
    return {rule: make for rule, make in GENERAL.items() if base not in HALVED or rule != "single"}


def _pointwise(base: str) -> dict[str, Rule]:
    """Return rules for an elementwise operator; a derivative's gradient is like the result of its function."""
    if base.endswith("_backward"):
        unlike = {rule: make for rule, make in POINTWISE.items() if rule not in UNLIKE}
        return {**unlike, "special": partial(values.special, infinite=False, alike=True)}
    if base in ACTIVATIONS - WITH_LIMITS:
        return {**POINTWISE, "special": partial(values.special, infinite=False)}
    return POINTWISE


def _indexing(base: str) -> dict[str, Rule]:
    """Return rules for tensors of indices; other operators on indices keep those of their samples."""
    once = base in indexing.EACH_ONCE
    if base in indexing.ALONG:
        return {"places": partial(indexing.along, once=once)}
    if base in indexing.ROWS:
        return {"places": partial(indexing.rows, once=once)}
    if base in indexing.LOOKUPS:
        return {"places": indexing.lookups}
    alone = {"embedding_dense_backward": indexing.summed, "put": indexing.put, "take": indexing.taken}.get(
        base
    )
    return {} if alone is None else {"places": alone}


def _drafts(
    operator: torch._ops.OpOverload, name: OperatorName, recorded: Sequence[Case]
) -> list[Iterator[tuple[str, Template]]]:
    if writes_to_out(operator):
        return _drafts_into_out(operator, recorded)
    rules = rules_for(operator, name)
    if name.base in joined.OPERATORS and rules:
        return _lists(operator, name, recorded)
    templates = _templates(operator, recorded) if rules else []
    if name.base in larger.WITHOUT_TENSORS:
        templates = [_template(operator, case) for case in recorded[:MAX_TEMPLATES]]
    if name.base in products.FACTORS:
        n_factors = len(products.FACTORS[name.base])
        templates = [template for template in templates if len(template.tensors) == n_factors]
    return [_by_rule(rule, make, templates) for rule, make in rules.items()]


def _drafts_into_out(operator: Any, recorded: Sequence[Case]) -> list[Iterator[tuple[str, Template]]]:
    """Return the drafts for the overload that returns new memory, each with a place for its result."""
    plain = without_out(operator)
    if plain is None:
        return []
    drafts = _drafts(plain, OperatorName.parse(str(plain)), [stripped(case) for case in recorded])
    return [into_out(plain, source, first) for first, source in enumerate(drafts)]


def _lists(
    operator: Any, name: OperatorName, recorded: Sequence[Case]
) -> list[Iterator[tuple[str, Template]]]:
    """Return the drafts for an operator on a list of tensors; any recorded call will do to start from."""
    dtype = recorded[0].dtype
    templates = [_template(operator, recorded[0])]
    return [
        _by_rule(rule, partial(make, dtype=dtype), templates)
        for rule, make in joined.OPERATORS[name.base].items()
    ]


def _by_rule(rule: str, make: Rule, templates: list[Template]) -> Iterator[tuple[str, Template]]:
    """Yield a rule's drafts, another template for each change first, then the others."""
    drafts = [list(make(template)) for template in templates]
    longest = max(map(len, drafts), default=0)
    for shift in range(len(drafts)):
        for index in range(longest):
            found = drafts[(index + shift) % len(drafts)]
            if index < len(found):
                yield rule, found[index]


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
    """Return recorded calls to start from: one of each set of given arguments.

    Those with elements come first, and of them those whose values are drawn: fixed ones are special, such as all NaN.
    Then those without a number that is zero, as it may leave nothing of the tensors, and those with rows and columns. A call whose result is empty is taken where there is no other.
    """
    chosen: dict[object, Template] = {}
    empty: set[object] = set()
    scalars = _scalars(recorded)
    for case in sorted(recorded, key=_worth):
        template = replace(_template(operator, case), scalars=scalars)
        if template.tensors and not _has_tensor_list(case):
            pattern = (
                len(case.args),
                tuple(slot for slot, _ in template.tensors),
                dict(case.kwargs).keys(),
                [value for value in (*case.args, *dict(case.kwargs).values()) if isinstance(value, str)],
                template.value_of("reduction") if "reduction" in template.names else None,
            )
            key = repr(pattern)
            if key not in chosen or key in empty:
                outputs = attempt(operator, template.arguments, seed=1) or ()
                if any(output.numel for output in outputs):
                    empty.discard(key)
                elif key in chosen:
                    continue
                else:
                    empty.add(key)
                chosen[key] = template
    by_tensors = sorted(chosen.values(), key=lambda item: -len(item.tensors))
    return by_tensors[:MAX_TEMPLATES]


def _scalars(recorded: Sequence[Case]) -> frozenset[Slot]:
    """Return where every call has a tensor without dimensions, beside one that has some, as ``masked_fill`` its value."""
    found = [tensors_of(Arguments(args=c.args, kwargs=c.kwargs, storages=c.storages)) for c in recorded]
    shaped = {slot for tensors in found for slot, tensor in tensors if tensor.shape}
    return frozenset(slot for tensors in found for slot, _ in tensors if shaped and slot not in shaped)


def _template(operator: Any, case: Case) -> Template:
    """Return a case as a template, with what the schema says of the parameters."""
    parameters = operator._schema.arguments  # noqa: SLF001
    kinds = {item.name: str(item.type) for item in parameters}

    def of(*texts: str) -> tuple[str, ...]:
        return tuple(
            name for name, kind in kinds.items() if kind.removeprefix("Optional[").removesuffix("]") in texts
        )

    defaults = []
    for item in parameters:
        if not item.kwarg_only and item.has_default_value():
            value = item.default_value
            defaults.append((item.name, tuple(value) if isinstance(value, list) else value))
    return Template(
        arguments=Arguments(args=case.args, kwargs=case.kwargs, storages=case.storages),
        names=tuple(kinds),
        numbers=of("number", "float"),
        lists=tuple(name for name, kind in kinds.items() if "List[int]" in kind),
        integers=of("int"),
        flags=of("bool"),
        defaults=tuple(defaults),
    )


def _worth(case: Case) -> tuple[bool, bool, bool, int]:
    """Return what a recorded call is sorted by, the best template first."""
    shapes = [value.shape for value in case.args if isinstance(value, TensorSpec)]
    no_factor = any(isinstance(value, float) and value == 0 for value in case.args)
    rank = max(map(len, shapes), default=0)
    return not _has_elements(case), _has_fixed_floats(case), no_factor, -min(rank, 2)


def _has_elements(case: Case) -> bool:
    return all(storage.numel > 1 for storage in case.storages)


def _has_fixed_floats(case: Case) -> bool:
    return any(is_floating(item.dtype) and isinstance(item.rule, LiteralValues) for item in case.storages)


def _has_tensor_list(case: Case) -> bool:
    given = [*case.args, *(value for _, value in case.kwargs)]
    return any(isinstance(v, tuple) and any(isinstance(i, TensorSpec) for i in v) for v in given)


def _accepted(operator: Any, arguments: Arguments, rule: str) -> bool:
    outputs = attempt(operator, arguments, seed=1)
    if outputs is None:
        return False
    if any(output.numel > MAX_OUTPUT_ELEMENTS for output in outputs):
        return False
    if not heeds_layout(operator, arguments):
        return False
    return rule in MAY_BE_NAN or not any(output.all_nan for output in outputs)
