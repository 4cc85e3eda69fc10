"""One session of the evaluator for all committed kernels, with a key in the environment that nobody may find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kagent_bench.config.schema import EvaluateSettings, Settings
from kagent_bench.evaluate.corpus import selftest
from kagent_bench.evaluate.corpus.entries import HONEST
from kagent_bench.evaluate.corpus.judges import Judgement, Judges
from kagent_bench.evaluate.session import Session
from tests.adversarial.cases import CorpusSuite
from tests.adversarial.corpus import Entry, entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from kagent_bench.model.selection import OperatorCases

PLANTED = {"OPENAI_API_KEY": "sk-planted-4f1d9c0a77e2", "KAGENT_SECRET_TOKEN": "planted-b81c55d2"}
"""Keys in the environment of whoever runs the evaluator."""
SECRET_FILE = "planted-e07a3f"  # noqa: S105 - planted to be looked for
"""Content of a file beside the results."""
SEED = b"the same inputs in every test run"
"""Instead of the secret of a user's run."""
CALL_LIMIT_S = 8.0
"""Seconds for one call: far above what any case needs, far below what a user allows."""
STARTUP_LIMIT_S = 30.0
"""Seconds for loading a kernel file, on a busy machine."""
MEMORY_LIMIT_MIB = 2048


@pytest.fixture(scope="session")
def planted() -> Iterator[dict[str, str]]:
    """Put keys into the environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in PLANTED.items():
            patch.setenv(name, value)
        yield PLANTED


@pytest.fixture(scope="session")
def session(planted: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Start the evaluator on the CPU."""
    del planted
    store = tmp_path_factory.mktemp("store")
    (store / "key.txt").write_text(SECRET_FILE)
    evaluate = EvaluateSettings(
        device="cpu",
        case_timeout_s=CALL_LIMIT_S,
        startup_timeout_s=STARTUP_LIMIT_S,
        memory_limit_mib=MEMORY_LIMIT_MIB,
    )
    with Session(Settings(evaluate=evaluate), secret_paths=[store]) as started:
        started.reseed(SEED)
        yield started


@pytest.fixture(scope="session")
def judgement(request: pytest.FixtureRequest, session: Session) -> Iterator[Callable[[Entry], Judgement]]:
    """Return who knows what the evaluator says; the collected kernels are judged in the background."""
    folder = request.config.cache
    assert folder is not None
    suite = CorpusSuite(folder.mkdir("adversarial-cases"), [entry.operator for entry in entries()])

    def cases(entry: Entry) -> OperatorCases:
        """Wrong kernels that come with the program are told from right ones by the cases that come with it too."""
        return selftest.cases(entry) if entry.shows and entry.group != HONEST else suite.cases(entry)

    judges = Judges(session, cases)
    collected = [
        entry
        for item in request.session.items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
        if isinstance(entry := item.callspec.params.get("entry"), Entry)
    ]
    futures: dict[Entry, Future[Judgement]] = {}
    try:
        for entry in dict.fromkeys(collected):
            futures[entry] = judges.submit(entry)
        yield lambda entry: futures[entry].result()
    finally:
        judges.close()
