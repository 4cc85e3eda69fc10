"""The suites of this package as a plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kagent_bench.hooks.entries import SuiteEntry
from kagent_bench.hooks.specs import hookimpl

if TYPE_CHECKING:
    from kagent_bench.hooks.protocols import Suite


@hookimpl
def kab_suites() -> list[SuiteEntry]:
    """Return the suites that come with the package."""
    return [
        SuiteEntry("smoke", "six operators with a few hand-written cases each, available at once", _smoke),
        SuiteEntry("opinfo", "PyTorch's own operator samples (OpInfo), recorded once and cached", _opinfo),
        SuiteEntry(
            "torchbench", "calls recorded from models of today; --suite-file names others", _torchbench
        ),
        SuiteEntry(
            "backendbench", "BackendBench's public data of recorded calls, fetched once", _backendbench
        ),
        SuiteEntry(
            "facto", "calls that FACTO makes up from its specifications; needs the package facto", _facto
        ),
        SuiteEntry("kernelbench", "modules: a folder of KernelBench-style problem files", _kernelbench),
    ]


def _kernelbench() -> Suite:
    from kagent_bench.suites.modules import ModuleSuite

    return ModuleSuite()


def _torchbench() -> Suite:
    from kagent_bench.suites.trace.open import shipped_suite

    return shipped_suite()


def _backendbench() -> Suite:
    from kagent_bench.suites.trace.open import public_suite

    return public_suite()


def _facto() -> Suite:
    from kagent_bench.suites.facto import FactoSuite

    return FactoSuite()


def _smoke() -> Suite:
    from kagent_bench.suites.smoke import SmokeSuite

    return SmokeSuite()


def _opinfo() -> Suite:
    from kagent_bench.suites.opinfo import OpInfoSuite

    return OpInfoSuite()
