"""What every test keeps to: it leaves the environment, the working directory, the network and the checkout alone."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent

_SET_BY_LIBRARIES = frozenset({"PYTEST_CURRENT_TEST", "TORCHINDUCTOR_CACHE_DIR", "CUDA_MODULE_LOADING"})
"""Variables that pytest and torch set on their own."""
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@pytest.fixture(autouse=True)
def _environment_and_folder_are_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hide the user's settings from the test; fail a test that changes the environment or the folder."""
    for name in list(os.environ):
        if name.startswith("KAB_"):
            monkeypatch.delenv(name)
    folder = Path.cwd()
    before = _variables()
    root = _names(ROOT)
    with monkeypatch.context():
        yield
    assert folder == Path.cwd(), "the test left another working directory behind"
    changed = {name for name, _ in before.items() ^ _variables().items()}
    assert changed == set(), "the test changed the environment"
    assert root >= _names(ROOT), "the test wrote into the checkout"


@pytest.fixture(autouse=True)
def _network_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections to other machines."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:  # noqa: ANN401 - any family's address
        internet = self.family in {socket.AF_INET, socket.AF_INET6}
        if internet and address[0] not in _LOOPBACK:
            message = f"a test tried to connect to {address[0]}"
            raise AssertionError(message)
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _SET_BY_LIBRARIES}


def _names(folder: Path) -> set[str]:
    return {
        entry.name for entry in folder.iterdir() if not entry.name.startswith(".") and entry.name != "build"
    }
