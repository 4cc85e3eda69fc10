"""Composes problem files in a process of its own, see ``kab_fuser_cases``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[2]


def compose(
    out: Path, problems: Iterable[Path], *, run: Iterable[Path], hash_seed: str = "1"
) -> dict[str, dict[str, Any]]:
    """Compose problem files into a folder, and run some of them beside PyTorch; returns by name what is printed."""
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-W",
                "ignore",
                "-m",
                "kagent_bench.throwaway",
                "tests.plugins.kab_fuser_cases",
            ),
            *(str(out), *map(str, problems), "--run", *map(str, run)),
        ],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")]),
            "TRITON_INTERPRET": "1",
            "PYTHONHASHSEED": hash_seed,
            "OMP_NUM_THREADS": "1",
        },
        cwd=out,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr[-2000:]
    return {item.pop("name"): item for item in map(json.loads, done.stdout.splitlines())}
