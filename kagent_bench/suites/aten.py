"""What torch says of its own operators, told by a throwaway process and kept: this process needs no torch."""

from __future__ import annotations

import importlib.metadata
import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from kagent_bench.model.names import OperatorName
from kagent_bench.suites.cache import cache_dir
from kagent_bench.suites.made_file import make_file

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 1
"""Version of the file's content, part of its name."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operator."""

    name: str
    type: str
    """torch's word: ``Tensor``, ``List[int]``, ``Optional[float]``, ..."""
    kwarg_only: bool
    written: bool
    """Whether the schema says that the operator writes to it."""
    optional: bool
    """Whether it may be left out."""


@dataclass(frozen=True, slots=True)
class Schema:
    """One overload."""

    kind: str
    """How it can be judged, see ``model.selection.OperatorCases``."""
    arguments: tuple[Argument, ...]


@cache
def aten_schemas() -> Mapping[OperatorName, Schema]:
    """Return every overload of the installed torch; the first call for a version of torch takes seconds.

    Raises:
        HarnessFault: torch cannot be asked.
    """
    version = re.sub(r"[^A-Za-z0-9.+-]", "_", importlib.metadata.version("torch"))
    path = cache_dir() / f"aten-{version}-{FORMAT}.json"
    if not path.exists():
        make_file("kagent_bench.suites.describe", path, "asking torch for its operators")
    data = json.loads(path.read_bytes())
    return {
        OperatorName(base, overload): Schema(kind, tuple(Argument(*argument) for argument in arguments))
        for base, overload, kind, arguments in data
    }
