"""The smoke suite."""

from __future__ import annotations

from kagent_bench.hooks.protocols import Suite, SuiteRequest
from kagent_bench.model.case import Case, TensorSpec
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.smoke import SmokeSuite


def _cases(request: SuiteRequest) -> list[Case]:
    return [case for item in SmokeSuite().operators(request) for case in item.cases]


def test_names_and_operators_agree() -> None:
    """Every operator comes once, sorted, with cases that each have an id of their own."""
    suite = SmokeSuite()
    assert isinstance(suite, Suite)
    names = [item.operator for item in suite.operators(SuiteRequest())]
    assert tuple(sorted(names)) == suite.operator_names()
    ids = [case.id for case in _cases(SuiteRequest())]
    assert len(ids) == len(set(ids))


def test_request_limits_operators_and_dtypes() -> None:
    """Only what was asked for comes back."""
    relu = OperatorName.parse("relu")
    request = SuiteRequest(operators=frozenset({relu}), dtypes=frozenset({"int64"}))
    found = _cases(request)
    assert {(relu, "int64")} == {(case.operator, case.dtype) for case in found}


def test_every_view_lies_inside_its_storage() -> None:
    """No hand-written stride or offset reaches past the elements."""
    for case in _cases(SuiteRequest()):
        for tensor in (value for value in case.args if isinstance(value, TensorSpec)):
            if 0 not in tensor.shape:
                reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride, strict=True))
                assert tensor.offset + reach < case.storages[tensor.storage].numel


def test_content_hash_is_stable() -> None:
    """The hash does not depend on the instance."""
    assert SmokeSuite().content_sha256() == SmokeSuite().content_sha256()
