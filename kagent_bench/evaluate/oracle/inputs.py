"""Input values: drawn from the run's secret seed, the case and the round, in several distributions.

Values come from HMAC(seed, case, round), so that resume, replay and ``--case ID`` see the same inputs while no
candidate can foresee them.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from kagent_bench.evaluate.oracle.computed import compute_values
from kagent_bench.model.case import IntegerValues, LiteralValues, UniformValues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.evaluate.oracle.semantics import Semantics, Specials
    from kagent_bench.model.case import Case, StorageSpec

ROUNDS = ("as_given", "wide", "integers", "special", "late_wide")
"""The distributions, in order. ``as_given`` is the recorded range; ``wide`` signed values over five decades;
``integers`` whole numbers whose products need more mantissa than a shortcut dtype keeps; ``special`` the
recorded range with NaN, infinities and signed zeros strewn in; ``late_wide`` looks nominal at first and
turns wide after the first half, against kernels that sample a prefix."""

WIDE_DECADES = (-3.0, 2.0)
"""Exponents of ten between which magnitudes of the ``wide`` round lie; squares stay finite in float16."""
INTEGER_BOUND = {torch.float16: 8, torch.bfloat16: 8}
"""Largest whole number per dtype: products and short sums stay exact in half precision."""
DEFAULT_INTEGER_BOUND = 4095
"""12 bits: one more than TensorFloat-32's and float16's mantissa keeps, four more than bfloat16's."""
LEVEL_BOUND = 2
"""Largest whole number where equal ones must meet."""
SPECIAL_SHARE = 0.2
"""Share of special elements where each output element depends on few inputs."""
FEWEST_TO_CHOOSE_FROM = 2
"""Number of storages from which on one is chosen."""
FEW_SPECIALS = 2
"""Number of special elements where one of them reaches a whole row of outputs."""


def generator(seed: bytes, case_id: str, round_index: int, device: str = "cpu") -> torch.Generator:
    """Return a generator seeded from HMAC-SHA256(seed, case, round); its device decides about the values, too."""
    mac = hmac.new(seed, f"{case_id}:{round_index}".encode(), hashlib.sha256).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(mac[:8], "little") >> 1)


def rounds_of(case: Case, semantics: Semantics, n_rounds: int) -> tuple[str, ...]:
    """Return the distributions that make sense for a case, at most ``n_rounds`` of them.

    A case whose values are all literal has one round, unless its elements may be shuffled.
    """
    if all(isinstance(storage.rule, LiteralValues) for storage in case.storages):
        return ROUNDS[:2] if semantics.elementwise and case.storages else ROUNDS[:1]
    rounds = [name for name in ROUNDS if semantics.allows_round(name)]
    if semantics.linear and dict(case.kwargs).get("alpha") == 0 and "special" in rounds:
        # Whether zero times NaN is worked out is the library's choice: BLAS does not look at the factors then.
        rounds.remove("special")
    return tuple(rounds[:n_rounds])


def draw(
    case: Case, semantics: Semantics, round_name: str, source: torch.Generator
) -> tuple[torch.Tensor, ...]:
    """Return one flat tensor of shape [numel] per storage of the case.

    They are drawn on the source's device; values that are computed from others are on the CPU, with all others.

    Raises:
        ReferenceFailed: values that are computed from others cannot be, from those of this round.
    """
    drawn = _draw_all(case, semantics, round_name, source)
    if case.computed:
        drawn = tuple(storage.cpu() for storage in drawn)
        compute_values(case, drawn)
    return drawn


def _draw_all(
    case: Case, semantics: Semantics, round_name: str, source: torch.Generator
) -> tuple[torch.Tensor, ...]:
    if round_name == "wide" and semantics.integers_are_data and _only_integers(case):
        return tuple(
            _draw_storage(_widened(storage), semantics, round_name, source) for storage in case.storages
        )
    special = _specials_go_to(case, semantics, source) if round_name == "special" else None
    return tuple(
        _draw_storage(
            storage,
            semantics,
            ROUNDS[0]
            if index in semantics.steady or (special is not None and index not in special)
            else round_name,
            source,
        )
        for index, storage in enumerate(case.storages)
    )


def _specials_go_to(case: Case, semantics: Semantics, source: torch.Generator) -> frozenset[int]:
    """Return the storages that get special values.

    One of several where one such value reaches a whole row of outputs, or NaN would be all that is left to compare;
    the addend where a ``beta`` of zero is documented to ignore NaN in it.
    """
    # What an operator makes of special values is special itself: where values are computed, plain ones go in.
    computed = {computation.target.storage for computation in case.computed}
    floats = [
        index
        for index, storage in enumerate(case.storages)
        if isinstance(storage.rule, UniformValues) and index not in computed
    ]
    if semantics.specials.dense or len(floats) < FEWEST_TO_CHOOSE_FROM:
        return frozenset(floats)
    if dict(case.kwargs).get("beta") == 0:
        return frozenset(floats[:1])
    return frozenset([floats[int(_integers(0, len(floats), (), source))]])


def _only_integers(case: Case) -> bool:
    """Return whether no argument is a floating-point tensor, to which large integers would be rounded."""
    dtypes: list[torch.dtype] = [getattr(torch, storage.dtype) for storage in case.storages]
    return not any(dtype.is_floating_point or dtype.is_complex for dtype in dtypes)


def _widened(storage: StorageSpec) -> StorageSpec:
    """Return a storage whose integers are so large that their products just fit: narrower arithmetic shows."""
    dtype: torch.dtype = getattr(torch, storage.dtype)
    if dtype is torch.bool or not isinstance(storage.rule, IntegerValues):
        return storage
    bound = math.isqrt(torch.iinfo(dtype).max)
    low = -bound if storage.rule.low < 0 else storage.rule.low
    return replace(storage, rule=IntegerValues(low=low, high=max(bound, storage.rule.high)))


def _draw_storage(
    storage: StorageSpec, semantics: Semantics, round_name: str, source: torch.Generator
) -> torch.Tensor:
    dtype: torch.dtype = getattr(torch, storage.dtype)
    rule = storage.rule
    if isinstance(rule, LiteralValues):
        if not rule.data:
            return torch.empty(0, dtype=dtype, device=source.device)
        literal = torch.frombuffer(bytearray(rule.data), dtype=torch.uint8).view(dtype).to(source.device)
        if round_name != ROUNDS[0] and semantics.elementwise and not dtype.is_floating_point:
            return literal[torch.randperm(storage.numel, generator=source, device=source.device)]
        return literal
    if isinstance(rule, IntegerValues):
        if dtype is torch.bool:
            return _integers(rule.low, rule.high + 1, (storage.numel,), source).to(dtype)
        return _integers(rule.low, rule.high + 1, (storage.numel,), source, dtype)
    shape: Sequence[int] = (storage.numel, 2) if dtype.is_complex else (storage.numel,)
    part = dtype.to_real() if dtype.is_complex else dtype
    values = _draw_floats(shape, rule.low, rule.high, round_name, semantics, part, source).to(part)
    return torch.view_as_complex(values) if dtype.is_complex else values


def _draw_floats(
    shape: Sequence[int],
    low: float,
    high: float,
    round_name: str,
    semantics: Semantics,
    dtype: torch.dtype,
    source: torch.Generator,
) -> torch.Tensor:
    if round_name == "wide":
        return _wide(shape, source)
    if round_name == "integers":
        bound = LEVEL_BOUND if semantics.few_levels else INTEGER_BOUND.get(dtype, DEFAULT_INTEGER_BOUND)
        return _integers(-bound, bound + 1, shape, source).double()
    nominal = low + (high - low) * _fractions(shape, source)
    if round_name == "special":
        return _strew(nominal, semantics.specials, source)
    if round_name == "late_wide":
        flat, wide = nominal.flatten(), _wide(shape, source).flatten()
        half = flat.numel() // 2
        return torch.cat([flat[:half], wide[half:]]).view(tuple(shape))
    return nominal


def _wide(shape: Sequence[int], source: torch.Generator) -> torch.Tensor:
    low, high = WIDE_DECADES
    exponent = low + (high - low) * _fractions(shape, source)
    sign = _integers(0, 2, shape, source).double() * 2 - 1
    return sign * torch.pow(10.0, exponent)


def _strew(values: torch.Tensor, specials: Specials, source: torch.Generator) -> torch.Tensor:
    flat = values.flatten()
    n_total = flat.numel()
    n_special = max(1, int(n_total * SPECIAL_SHARE)) if specials.dense else min(FEW_SPECIALS, n_total)
    places = torch.randperm(n_total, generator=source, device=source.device)[:n_special]
    choices = torch.tensor(specials.values, dtype=torch.float64, device=source.device)
    flat[places] = choices[_integers(0, len(choices), (len(places),), source)]
    if not specials.dense and n_total:
        sharp = choices[~torch.isfinite(choices)]
        flat[places[0]] = sharp[_integers(0, len(sharp), (), source)]
    return flat.view(values.shape)


def _fractions(shape: Sequence[int], source: torch.Generator) -> torch.Tensor:
    """Return float64 values of [0, 1)."""
    return torch.rand(tuple(shape), generator=source, device=source.device, dtype=torch.float64)


def _integers(
    low: int, end: int, shape: Sequence[int], source: torch.Generator, dtype: torch.dtype = torch.int64
) -> torch.Tensor:
    """Return whole numbers of [low, end)."""
    return torch.randint(low, end, tuple(shape), generator=source, device=source.device, dtype=dtype)
