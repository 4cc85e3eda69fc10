"""What ``kab list`` prints: JSON values, and the same as plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from kagent_bench.cli.console import columns
from kagent_bench.model.call_text import call_text

if TYPE_CHECKING:
    from kagent_bench.evaluate.case_check.check import CaseCheck
    from kagent_bench.hooks.catalog import Catalog
    from kagent_bench.model.selection import OperatorCases, Selection

Checks: TypeAlias = "Mapping[tuple[str, str], CaseCheck]"
"""What came of trying cases out, by operator and case id."""
NOT_TRIED = "no"
"""What ``CaseCheck.tried`` says of a case that ran in no size."""


def names_json(catalog: Catalog) -> dict[str, Any]:
    """Return every name by kind, with summary and owner."""
    return {
        kind: [
            {
                "name": entry.name,
                "summary": entry.summary,
                "plugin": registry.owner(entry.name).plugin,
                "distribution": registry.owner(entry.name).distribution,
            }
            for entry in registry.entries()
        ]
        for kind, registry in catalog.registries().items()
    }


def names_words(found: dict[str, Any]) -> str:
    """Return the names as text."""
    blocks = []
    for kind, items in found.items():
        rows = [(item["name"], item["summary"], item["distribution"]) for item in items]
        blocks.append(f"{kind.replace('_', ' ')}\n{columns(rows)}")
    return "\n\n".join(blocks)


def operators_json(selection: Selection, *, cases: bool, checks: Checks | None = None) -> dict[str, Any]:
    """Return the selected operators with their numbers of cases, and each case, checked or not, on request."""
    return {
        **({} if checks is None else _checked(checks)),
        "suite": selection.suite,
        "suite_sha256": selection.suite_sha256,
        "n_operators": len(selection.operators),
        "n_cases": selection.n_cases,
        "data": list(selection.notes),
        "unread": list(selection.unread),
        "operators": [_operator(item, cases=cases, checks=checks or {}) for item in selection.operators],
    }


def _checked(checks: Checks) -> dict[str, Any]:
    """Return what came of all cases together: marks, and why cases were not run, the most frequent reason first."""
    marks = Counter(str(mark) for check in checks.values() for mark in check.marks)
    reasons = Counter(
        (str(check.marks[-1]), check.detail) for check in checks.values() if check.tried == NOT_TRIED
    )
    return {
        "checked": len(checks),
        "marks": dict(sorted(marks.items())),
        "not_run": [
            {"mark": mark, "count": count, "reason": reason}
            for (mark, reason), count in reasons.most_common()
        ],
    }


def operators_words(found: dict[str, Any]) -> str:
    """Return the operators as text, one line each, and one per case where there are any."""
    lines = [f"suite {found['suite']}: {found['n_operators']} operators, {found['n_cases']} cases"]
    lines += found["data"]
    if "marks" in found:
        counted = ", ".join(f"{count} {mark}" for mark, count in found["marks"].items())
        lines.append(f"{found['checked']} cases checked: {counted or 'nothing to say of any'}")
        lines += [f"{item['count']} {item['mark']}: {item['reason']}" for item in found["not_run"]]
    rows = [
        (
            item["op_name"],
            item["kind"],
            f"{item['n_cases']} cases",
            ", ".join(f"{dtype} {count}" for dtype, count in item["dtypes"].items()),
            f"{item['n_skipped']} skipped" if item["n_skipped"] else "",
        )
        for item in found["operators"]
    ]
    for item, line in zip(found["operators"], columns(rows).splitlines(), strict=True):
        lines.append(line)
        shown = [
            (case["id"], case["dtype"], case["origin"], _mark_words(case), case["call"])
            if "check" in case
            else (case["id"], case["dtype"], case["origin"], case["call"])
            for case in item.get("cases", [])
        ]
        if shown:
            lines.append(columns(shown, indent="      "))
    return "\n".join(lines)


def _mark_words(case: dict[str, Any]) -> str:
    check = case["check"]
    words = ", ".join(check["marks"]) or "good"
    return f"{words}: {check['detail']}" if check["detail"] else words


def _operator(item: OperatorCases, *, cases: bool, checks: Checks) -> dict[str, Any]:
    found: dict[str, Any] = {
        "op_name": str(item.operator),
        "kind": item.kind,
        "n_cases": len(item.cases),
        "n_skipped": len(item.skipped),
        "dtypes": dict(sorted(Counter(case.dtype for case in item.cases).items())),
        "origins": dict(sorted(Counter(case.origin for case in item.cases).items())),
    }
    if cases:
        found["cases"] = [
            {
                "id": case.id,
                "dtype": case.dtype,
                "origin": case.origin,
                "held_out": case.held_out,
                "count": case.count,
                "call": call_text(case),
                **_check(checks.get((str(item.operator), case.id))),
            }
            for case in item.cases
        ]
    return found


def _check(check: CaseCheck | None) -> dict[str, Any]:
    if check is None:
        return {}
    marks = [str(mark) for mark in check.marks]
    return {"check": {"marks": marks, "detail": check.detail, "tried": check.tried}}
