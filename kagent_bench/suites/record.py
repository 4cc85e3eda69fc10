"""Records one shard: ``python -m kagent_bench.suites.record DTYPE FILE [-OPERATOR ...] [OPINFO ...]``, a throwaway process.

Importing torch's ``op_db`` imports triton, reads ``sys.argv``, seeds generators, locks backend flags and sets
environment variables: none of that may happen in a process that does anything else.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    """Record the samples of one dtype into a new file.

    Args:
        arguments: dtype (torch's name), file, operators behind a dash that get no derived cases, and names of
            OpInfos (none for all).
    """
    dtype, path, *only = arguments
    sys.argv = ["record"]
    from kagent_bench.suites.recording.session import record

    underived = frozenset(name.removeprefix("-") for name in only if name.startswith("-"))
    opinfos = frozenset(name for name in only if not name.startswith("-"))
    record(dtype, Path(path), opinfos or None, underived=underived)


if __name__ == "__main__":
    main(sys.argv[1:])
