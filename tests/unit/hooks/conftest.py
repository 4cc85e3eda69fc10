"""Strangers' plugins: distributions made on the fly, found as installed ones are."""

from __future__ import annotations

import importlib.metadata
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

MakePlugin: TypeAlias = "Callable[..., importlib.metadata.EntryPoint]"

_NUMBERS = itertools.count()

HEADER = """
from kagent_bench.hooks.entries import *
from kagent_bench.hooks.specs import hookimpl
"""


@dataclass(frozen=True)
class _Maker:
    folder: Path

    def __call__(
        self,
        source: str,
        *,
        plugin: str = "theirs",
        distribution: str = "strange-plugin",
        version: str = "1.5",
    ) -> importlib.metadata.EntryPoint:
        # modules stay imported, so that each needs a name of its own
        module = f"{plugin}_{next(_NUMBERS)}"
        (self.folder / f"{module}.py").write_text(HEADER + source)
        info = self.folder / plugin / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[kagent_bench]\n{plugin} = {module}\n")
        (found,) = importlib.metadata.distributions(path=[str(info.parent)])
        (entry_point,) = found.entry_points
        return entry_point


@pytest.fixture
def make_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakePlugin:
    """Return a function that makes an entry point of a distribution whose module has the given source."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return _Maker(tmp_path)
