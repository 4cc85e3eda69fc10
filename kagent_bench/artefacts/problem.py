"""Builds the problem that a generator is given: statement, test and development cases of one operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kagent_bench.artefacts.case_source import write_test_source
from kagent_bench.artefacts.module_statement import write_module_statement
from kagent_bench.artefacts.module_test_source import write_module_test
from kagent_bench.artefacts.statement import write_statement
from kagent_bench.errors import InputError
from kagent_bench.hooks.protocols import Problem
from kagent_bench.model.identity import digest
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.model.selection import OperatorCases


def build_problem(operator_cases: OperatorCases, tolerance: Mapping[str, float]) -> Problem:
    """Return the problem of one operator or module; held-out cases leave no trace in it.

    Args:
        operator_cases: The operator and its selected cases.
        tolerance: Tolerance factor by torch's dtype name, the table that the evaluator uses.

    Raises:
        InputError: the installed torch has no such operator, or a problem file has a fault.
    """
    operator, kind, module = operator_cases.operator, operator_cases.kind, operator_cases.module
    cases = tuple(case for case in operator_cases.cases if not case.held_out)
    if isinstance(operator, OperatorName):
        statement = write_statement(operator, kind, cases, tolerance)
        test_source = write_test_source(operator, kind, cases, tolerance)
    elif module is None or not cases:
        fault = operator_cases.fault
        why = f"{fault.reason}: {fault.detail}" if fault else "it has no case"
        raise InputError(f"{operator} is no problem: {why}", hint="put its file right, or leave it out")
    else:
        statement = write_module_statement(module, cases[0], tolerance)
        test_source = write_module_test(module, cases[0], tolerance)
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
        module=module,
    )
