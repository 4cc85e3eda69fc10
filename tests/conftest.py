"""What every test keeps to: it leaves the environment, the working directory, the network and the checkout alone."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent

# How long an example takes says more about what else the machine does than about the code.
hypothesis.settings.register_profile("kab", deadline=None)
hypothesis.settings.load_profile("kab")

_SET_BY_LIBRARIES = frozenset({"PYTEST_CURRENT_TEST", "TORCHINDUCTOR_CACHE_DIR", "CUDA_MODULE_LOADING"})
"""Variables that pytest and torch set on their own."""
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@pytest.fixture(autouse=True)
def _surroundings_are_kept() -> Iterator[None]:
    """Hide the user's settings and the network; fail a test that changes the environment, folder or checkout.

    The test's own ``monkeypatch`` is undone before this fixture looks.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("KAB_"):
                patch.delenv(name)
        patch.setattr(socket.socket, "connect", _loopback_only)
        folder, variables, root = Path.cwd(), _variables(), _names(ROOT)
        yield
        assert folder == Path.cwd(), "the test left another working directory behind"
        changed = {name for name, _ in variables.items() ^ _variables().items()}
        assert changed == set(), "the test changed the environment"
        assert root >= _names(ROOT), "the test wrote into the checkout"


_connect = socket.socket.connect


def _loopback_only(self: socket.socket, address: Any) -> None:
    if self.family in {socket.AF_INET, socket.AF_INET6} and address[0] not in _LOOPBACK:
        message = f"a test tried to connect to {address[0]}"
        raise AssertionError(message)
    _connect(self, address)


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _SET_BY_LIBRARIES}


def _names(folder: Path) -> set[str]:
    """Return what lies in a folder, but for what pip and pytest put there while tests run."""
    return {
        entry.name
        for entry in folder.iterdir()
        if not entry.name.startswith((".", "pytest-cache-files-")) and entry.name != "build"
    }
