"""Runs a module in a process that does nothing else: ``python -m kagent_bench.throwaway MODULE [ARGUMENT ...]``.

With torch in it, a process spends a good part of its time on looking for garbage while modules are imported, which are
none, and on taking all of them apart at its end, which comes anyway: about half of what recording a module takes.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys

FEW_COLLECTIONS = (100_000, 50, 100)
"""Thresholds of Python's collector: an import of torch makes 400,000 objects that stay."""


def leave(status: int = 0) -> None:
    """End this process as it is; what it printed is written."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main() -> None:
    """Call the ``main`` of the module that the first argument names with the others."""
    gc.set_threshold(*FEW_COLLECTIONS)
    module, *arguments = sys.argv[1:]
    importlib.import_module(module).main(arguments)
    leave()


if __name__ == "__main__":
    main()
