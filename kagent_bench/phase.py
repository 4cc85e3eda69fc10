"""Packages that are functions as well: ``kagent_bench.evaluate(...)`` works before and after they are imported.

Importing ``kagent_bench.evaluate.run`` binds the package to the name of the API's function; so the package itself
answers the call.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class Phase(ModuleType):
    """The package of a phase."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        """Do what the function of this name in ``kagent_bench.api`` does."""
        # By name: this lowest of modules must not depend on the highest.
        api = importlib.import_module("kagent_bench.api")
        return getattr(api, self.__name__.rpartition(".")[2])(*args, **settings)


def make_callable(name: str) -> None:
    """Make the imported package ``name`` callable."""
    sys.modules[name].__class__ = Phase
