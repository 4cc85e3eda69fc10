"""Records one shard: ``python -m kagent_bench.suites.record DTYPE FILE [OPINFO ...]``, a throwaway process.

Importing torch's ``op_db`` imports triton, reads ``sys.argv``, seeds generators, locks backend flags and sets
environment variables: none of that may happen in a process that does anything else.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    """Record the samples of one dtype into a new file.

    Args:
        arguments: dtype (torch's name), file, and names of OpInfos (none for all).
    """
    dtype, path, *only = arguments
    sys.argv = ["record"]
    from kagent_bench.suites.recording.session import record

    record(dtype, Path(path), frozenset(only) or None)


if __name__ == "__main__":
    main(sys.argv[1:])
