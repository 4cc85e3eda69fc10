"""Kernels whose trick needs a device, and a few others of each class, on a GPU."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kagent_bench.config.schema import EvaluateSettings, Settings
from kagent_bench.evaluate.corpus.judges import Judges
from kagent_bench.evaluate.session import Session
from tests.adversarial.cases import CorpusSuite
from tests.adversarial.corpus import Entry, entries

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT_S = 900
ALSO_ON_A_GPU = ("relu__default", "add__Tensor", "sum__dim_IntList", "_softmax__default", "mm__default")
"""Operators whose honest, faulty and cheating kernels are judged compiled, too."""
_PROBE = "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 1)"

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(LIMIT_S)]


def _chosen() -> list[Entry]:
    return [
        entry
        for entry in entries()
        if entry.device == "gpu" or (entry.group != "hostile" and entry.operator.folder in ALSO_ON_A_GPU)
    ]


@pytest.fixture(scope="module")
def judges(request: pytest.FixtureRequest) -> Iterator[Judges]:
    """Start the evaluator on the device."""
    assert request.config.cache is not None
    folder = request.config.cache.mkdir("adversarial-cases")
    suite = CorpusSuite(folder, [item.operator for item in entries()])
    if subprocess.run([sys.executable, "-c", _PROBE], check=False).returncode:
        pytest.skip("no CUDA device")
    with Session(Settings(evaluate=EvaluateSettings(device="cuda"))) as session:
        started = Judges(session, suite.cases)
        yield started
        started.close()


@pytest.mark.parametrize("entry", _chosen(), ids=lambda entry: entry.name)
def test_verdicts_on_a_gpu(entry: Entry, judges: Judges) -> None:
    """An honest kernel is correct; no other is, though its trick may fail otherwise than in the interpreter."""
    found = judges.submit(entry).result()
    assert entry.allows(found.verdict, found.reason, compiled=True), str(found)
