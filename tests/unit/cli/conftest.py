"""Runs ``kab`` in this process, in an empty folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from kagent_bench.cli.app import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Kab: TypeAlias = "Callable[..., Done]"


@pytest.fixture
def kab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kab:
    """Return a function that runs ``kab`` with arguments; the working directory is the empty ``tmp_path``."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Done:
        with pytest.raises(SystemExit) as caught:
            main(list(arguments))
        out, err = capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return Done(code=caught.value.code, out=out, err=err)

    return run
