"""Kernels whose trick needs a device, and a few others of each class, on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kagent_bench.config.schema import EvaluateSettings, Settings
from kagent_bench.evaluate.corpus.judges import Judgement, Judges
from kagent_bench.evaluate.session import Session
from tests.adversarial.cases import CorpusSuite
from tests.adversarial.corpus import Entry, entries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

LIMIT_S = 900
AT_A_TIME = max(1, (os.cpu_count() or 1) - 2)
"""Kernels that are judged at a time."""
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
def judgements(request: pytest.FixtureRequest) -> Iterator[dict[Entry, Future[Judgement]]]:
    """Have all kernels of this run judged on the device, several at a time: most of it is compiling."""
    if subprocess.run([sys.executable, "-c", _PROBE], check=False).returncode:
        pytest.skip("no CUDA device")
    assert request.config.cache is not None
    folder = request.config.cache.mkdir("adversarial-cases")
    suite = CorpusSuite(folder, [item.operator for item in entries()])
    own = (item for item in request.session.items if item.path.samefile(__file__))
    wanted = [spec.params["entry"] for item in own if (spec := getattr(item, "callspec", None))]
    settings = Settings(num_workers=AT_A_TIME, evaluate=EvaluateSettings(device="cuda"))
    with Session(settings) as session:
        judges = Judges(session, suite.cases)
        yield {entry: judges.submit(entry) for entry in wanted}
        judges.close()


@pytest.mark.parametrize("entry", _chosen(), ids=lambda entry: entry.name)
def test_verdicts_on_a_gpu(entry: Entry, judgements: dict[Entry, Future[Judgement]]) -> None:
    """An honest kernel is correct; no other is, though its trick may fail otherwise than in the interpreter."""
    found = judgements[entry].result()
    assert entry.allows(found.verdict, found.reason, compiled=True), str(found)
