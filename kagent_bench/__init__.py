"""kagent-bench: judge GPU kernels that programs write.

The functions take the settings of ``kab config show`` as keyword arguments and return the objects whose
``to_json()`` the command line prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kagent_bench.api import evaluate, generate, report, run, setup

    __version__: str

__all__ = ["evaluate", "generate", "report", "run", "setup"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from kagent_bench import api

        return getattr(api, name)
    if name == "__version__":
        from importlib.metadata import version

        return version("kagent-bench")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
