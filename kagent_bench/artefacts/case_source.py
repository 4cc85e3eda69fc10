"""Writes the self-contained test file of an operator: the runner's text with the operator's cases put in.

The runner, ``case_runner.py``, is an ordinary module that is linted and tested as such; it is read as text and
never imported here, because it needs torch.
"""

from __future__ import annotations

import base64
import math
import re
import zlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from kagent_bench.model.call_text import call_text
from kagent_bench.model.case import (
    LiteralValues,
    SymbolSpec,
    TensorSpec,
    UniformValues,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kagent_bench.model.case import Case, Computation, StorageSpec, Value
    from kagent_bench.model.names import OperatorName

VALUE_FREE_KINDS = frozenset({"random", "metadata"})
"""Kinds of operators whose results have no values to compare: shape, dtype and aliasing only."""
_RUNNER = "case_runner.py"
_DATA = re.compile(r"(?<=# --- the operator ---\n).*(?=# --- the cases end ---\n)", re.DOTALL)
_LINT_NOTE = re.compile(r" *# noqa: .*")


def write_test_source(
    operator: OperatorName, kind: str, cases: Iterable[Case], tolerance: Mapping[str, float]
) -> str:
    """Return the text of an operator's test file, the same for the same arguments.

    Args:
        operator: The operator.
        kind: How it can be judged, see ``model.selection.OperatorCases``.
        cases: The cases to put in; the caller leaves out the held-out ones.
        tolerance: Tolerance factor by torch's dtype name.
    """
    lines = [
        f'OPERATOR = ("{operator.base}", "{operator.overload}")',
        f'FUNCTION = "{operator.kernel_function}"',
        f'KERNEL_NAME = "{operator.kernel_stem}.py"',
        f"COMPARE_VALUES = {kind not in VALUE_FREE_KINDS}",
        f"TOLERANCE: dict[str, float] = {dict(sorted(tolerance.items()))!r}",
        "CASES: tuple[Case, ...] = (",
        *(_case_text(case) for case in cases),
        ")",
        "",
    ]
    before, after = _runner()
    title = f'"""Development cases of aten.{operator}, as a self-contained test.'
    return "\n".join([title, before, *lines]) + after


@cache
def _runner() -> tuple[str, str]:
    """Return the runner's text without its first line, up to where the cases go and from there on."""
    text = resources.files(__package__).joinpath(_RUNNER).read_text(encoding="utf-8")
    before, after = _DATA.split(_LINT_NOTE.sub("", text), maxsplit=1)
    return before.partition("\n")[2].rstrip("\n"), after


def _case_text(case: Case) -> str:
    storages = "".join(f"\n            {_storage_text(storage)}," for storage in case.storages)
    args = "".join(f"{_value_text(value)}, " for value in case.args)
    kwargs = ", ".join(f"{name!r}: {_value_text(value)}" for name, value in case.kwargs)
    computed = "".join(f"\n            {_computation_text(item)}," for item in case.computed)
    return (
        "    Case(\n"
        f"        {case.id!r},\n"
        f"        {call_text(case)!r},\n"
        f"        ({storages}{_newline(storages)}),\n"
        f"        ({args.rstrip()}),\n"
        f"        {{{kwargs}}},\n"
        + (f"        ({computed}{_newline(computed)}),\n" if computed else "")
        + "    ),"
    )


def _newline(inner: str) -> str:
    return "\n        " if inner else ""


def _storage_text(storage: StorageSpec) -> str:
    rule = storage.rule
    if isinstance(rule, LiteralValues):
        values = f'Literal("{base64.b64encode(zlib.compress(rule.data)).decode()}")'
    elif isinstance(rule, UniformValues):
        values = f"Uniform({_value_text(rule.low)}, {_value_text(rule.high)})"
    else:
        values = f"Integers({rule.low}, {rule.high})"
    return f'Storage("{storage.dtype}", {storage.numel}, {values})'


def _computation_text(item: Computation) -> str:
    operator = f'("{item.operator.base}", "{item.operator.overload}")'
    args = "".join(f"{_value_text(value)}, " for value in item.args).rstrip()
    return f"Computation({operator}, ({args}), {item.output}, {_value_text(item.target)})"


def _value_text(value: Value) -> str:
    if isinstance(value, TensorSpec):
        offset = f", {value.offset}" if value.offset else ""
        return f"T({value.storage}, {value.shape!r}, {value.stride!r}{offset})"
    if isinstance(value, SymbolSpec):
        return f"Symbol({value.kind!r}, {value.name!r})"
    if isinstance(value, tuple):
        return f"[{', '.join(_value_text(item) for item in value)}]"
    if isinstance(value, complex):
        return f"complex({_value_text(value.real)}, {_value_text(value.imag)})"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value!r}")'
    return repr(value)
