"""A server that says what a script says, and sessions of the agent that talk to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.plugins.kernelagent.agents import Desk
from tests.plugins.kernelagent.server import KEY, ModelServer, Script

Serve: TypeAlias = Callable[..., ModelServer]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Return a function that starts a server; the key is in the environment, where the agent looks for it."""
    pytest.importorskip("openai")
    pytest.importorskip("anthropic")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with ExitStack() as stack:

        def start(script: Script, *, per_second: float = 0.0) -> ModelServer:
            return stack.enter_context(ModelServer(script, per_second=per_second).running())

        yield start


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a folder for sessions."""
    return Desk(folder=tmp_path)
