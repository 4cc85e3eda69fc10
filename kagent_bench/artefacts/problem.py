"""Builds the problem that a generator is given: statement, test and development cases of one operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kagent_bench.artefacts.case_source import write_test_source
from kagent_bench.artefacts.statement import write_statement
from kagent_bench.hooks.protocols import Problem
from kagent_bench.model.identity import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.model.selection import OperatorCases


def build_problem(operator_cases: OperatorCases, tolerance: Mapping[str, float]) -> Problem:
    """Return the problem of one operator; held-out cases leave no trace in it.

    Args:
        operator_cases: The operator and its selected cases.
        tolerance: Tolerance factor by torch's dtype name, the table that the evaluator uses.

    Raises:
        InputError: the installed torch has no such operator.
    """
    operator, kind = operator_cases.operator, operator_cases.kind
    cases = tuple(case for case in operator_cases.cases if not case.held_out)
    statement = write_statement(operator, kind, cases, tolerance)
    test_source = write_test_source(operator, kind, cases, tolerance)
    content = {
        "operator": str(operator),
        "statement": statement,
        "test": test_source,
        "cases": [case.id for case in cases],
    }
    return Problem(
        operator=operator,
        statement=statement,
        test_source=test_source,
        cases=cases,
        sha256=digest(content),
    )
