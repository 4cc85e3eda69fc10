"""Timing as a whole where there is no device: the same steps with the host's clock, which never makes a speedup."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kagent_bench.evaluate.timing.suspicion import median_s
from kagent_bench.model.case import Case, StorageSpec, TensorSpec, UniformValues
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.model.timing import EAGER, HOST_METHOD
from kagent_bench.report.speed import speed_of
from tests.benchmarks.timing_side_by_side import Bench, bench, eager_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.evaluate.timing.conductor import TimingOutcome

pytestmark = pytest.mark.timeout(180)
SLEEP_S = 0.02


def _case(operator: str) -> Case:
    return make_case(
        operator=OperatorName.parse(operator),
        args=(TensorSpec(storage=0, shape=(30, 10), stride=(10, 1)),),
        kwargs=(),
        storages=(StorageSpec(dtype="float32", numel=300, rule=UniformValues(low=-1.0, high=1.0)),),
        dtype="float32",
        origin="test",
    )


RELU = _case("relu.default")
IN_PLACE = _case("relu_.default")


@pytest.fixture(scope="module")
def session() -> Iterator[Bench]:
    """Start the evaluator."""
    with bench(device="cpu") as started:
        yield started


def _time(session: Bench, case: Case, source: str) -> TimingOutcome:
    (timed,) = session.times(case, source, 1)
    return timed.outcome


def test_a_kernel_is_timed_beside_eager(session: Bench) -> None:
    """Samples of both sides turn by turn, outputs compared, no ratio without a device."""
    outcome = _time(session, RELU, eager_source(RELU))
    assert "" == outcome.status
    timing = outcome.timing
    assert timing is not None
    assert HOST_METHOD == timing.method
    assert len(timing.candidate_s) == len(timing.references_s[EAGER]) == len(timing.reference_first)
    assert 3 == timing.checked_calls
    assert 1200 == timing.read_bytes == timing.written_bytes == timing.must_read_bytes
    assert speed_of(timing).ratio is None


def test_the_samples_are_seconds(session: Bench) -> None:
    """A kernel that sleeps 20 ms takes 20 ms."""
    source = (
        "import time\nimport torch\n\n\ndef relu__default_kernel_impl(x):\n"
        f"    time.sleep({SLEEP_S})\n    return torch.relu(x)\n"
    )
    timing = _time(session, RELU, source).timing
    assert timing is not None
    assert 0.9 * SLEEP_S < median_s(timing.candidate_s) < 2 * SLEEP_S
    assert timing.external_s is not None
    assert SLEEP_S < timing.external_s


def test_an_operator_in_place_does_not_drift(session: Bench) -> None:
    """Every call gets fresh inputs, also where it overwrites them."""
    outcome = _time(session, IN_PLACE, eager_source(IN_PLACE))
    assert ("", 3) == (outcome.status, outcome.timing.checked_calls if outcome.timing else 0)


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ("    return _known.setdefault(x.shape, torch.relu(x))", "rejected", "timed_output_wrong"),
        (
            "    _known[0] = _known.get(0, 0) + 1\n    return torch.relu(x) if _known[0] < 4 else x.clone()",
            "rejected",
            "timed_output_wrong",
        ),
        (
            "    _known[len(_known)] = 0\n    return torch.relu(x)[: 30 - len(_known) // 4]",
            "rejected",
            "timed_output_wrong",
        ),
        (
            "    _known[len(_known)] = 0\n    return torch.relu(x) / (len(_known) < 6 or []) ",
            "failed",
            "raised",
        ),
    ],
    ids=["remembered by shape", "honest at first", "shrinking", "raising later"],
)
def test_what_timed_calls_return_is_looked_at(session: Bench, body: str, status: str, reason: str) -> None:
    """A kernel that is right when judged and not when timed is told."""
    source = f"import torch\n\n_known = {{}}\n\n\ndef relu__default_kernel_impl(x):\n{body}\n"
    outcome = _time(session, RELU, source)
    assert (status, reason) == (outcome.status, outcome.reason), outcome


def test_times_that_are_none_are_refused(session: Bench) -> None:
    """A process may send anything; what is no duration is no time."""
    source = (
        "import time\nimport torch\n\ntime.perf_counter = lambda: float('nan')\n\n\n"
        "def relu__default_kernel_impl(x):\n    return torch.relu(x)\n"
    )
    outcome = _time(session, RELU, source)
    assert ("rejected", "clock_disagrees") == (outcome.status, outcome.reason)
