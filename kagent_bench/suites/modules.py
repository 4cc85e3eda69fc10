"""The ``kernelbench`` suite: problem files and classes by name, each a module to be written as kernels.

A file defines ``Model``, ``get_inputs`` and ``get_init_inputs``, as in KernelBench. It is the user's code: it runs
in a contained process of its own, and what comes back is data. What cannot be recorded is a fault of that problem.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kagent_bench.config.environment import process_environment
from kagent_bench.errors import HarnessFault, InputError, UsageError
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.model.identity import decode_case, digest, source_digest
from kagent_bench.model.program import Fault
from kagent_bench.model.program_json import decode_module
from kagent_bench.model.selection import OperatorCases
from kagent_bench.suites.cache import PASSED_ON, cache_dir, content_versions
from kagent_bench.suites.module_sources import ModuleSource, find_sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kagent_bench.model.names import ModuleName

KIND = "module"
"""Kind of these problems, see ``model.selection.OperatorCases``."""
DEVICE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""Environment variables that name the devices which a process sees."""
RECORDER = "kagent_bench.evaluate.modules.recorder"
"""Module that records; named, not imported: it needs torch and runs user code in its children."""
PROBLEM_TIMEOUT_S = 120.0
"""Seconds for recording one file; a module of ordinary size takes one or two."""
MEMORY_BYTES = 16 << 30
"""Host memory for recording one file."""


class ModuleSuite:
    """The problem files of folders, single ones, and classes."""

    reads_files = True

    def content_sha256(self) -> str:
        """Return a hash of the files of the last request and of what records them."""
        return digest([self._hashes, [list(item) for item in content_versions()], _recorder_digest()])

    def __init__(self) -> None:
        """Read nothing yet."""
        self._hashes: list[str] = []
        self._known: dict[str, OperatorCases] = {}

    def operator_names(self, request: SuiteRequest | None = None) -> tuple[ModuleName, ...]:
        """Return the problems, sorted; nothing is recorded for it.

        Raises:
            UsageError: no folder was named.
            InputError: the folder cannot be read, or has no problem file.
        """
        return tuple(self._sources(request or SuiteRequest()))

    def operators(self, request: SuiteRequest) -> Iterator[OperatorCases]:
        """Yield the problems, sorted by name, recording first those that are not known.

        Raises:
            UsageError, InputError: as ``operator_names``.
            HarnessFault: the recording process failed.
        """
        wanted = {
            name: source
            for name, source in self._sources(request).items()
            if request.operators is None or name in request.operators
        }
        found = self._recorded(wanted, request)
        for name in wanted:
            item = found[name]
            if (
                request.dtypes is None
                or item.fault
                or any(case.dtype in request.dtypes for case in item.cases)
            ):
                yield item

    def _sources(self, request: SuiteRequest) -> dict[ModuleName, ModuleSource]:
        if not request.files:
            message = "suite 'kernelbench' needs a folder of problem files, or one file"
            raise UsageError(message, hint="name it with --suite-file DIR")
        sources: dict[ModuleName, ModuleSource] = {}
        for source in (found for text in request.files for found in find_sources(text)):
            if source.name in sources:
                other = sources[source.name].path
                message = f"'{source.path}' and '{other}' are both called {source.name.stem}"
                raise InputError(
                    message, hint="rename one of the files; a class can be named in a file of its own"
                )
            sources[source.name] = source
        self._hashes = [f"{name}:{source.sha256()}" for name, source in sources.items()]
        return dict(sorted(sources.items()))

    def _recorded(
        self, sources: Mapping[ModuleName, ModuleSource], request: SuiteRequest
    ) -> dict[ModuleName, OperatorCases]:
        folder = cache_dir() / "modules"
        folder.mkdir(mode=0o700, exist_ok=True)
        places = {name: folder / f"{_key(source)}.json" for name, source in sources.items()}
        missing = [name for name, place in places.items() if not place.exists()]
        if missing:
            if request.note is not None:
                request.note(f"recording {len(missing)} problem files")
            _record([(sources[name], places[name]) for name in missing])
        return {name: self._read(name, places[name]) for name in sources}

    def _read(self, name: ModuleName, place: Path) -> OperatorCases:
        if place.stem not in self._known:
            self._known[place.stem] = _decode(name, place)
        return self._known[place.stem]


def _decode(name: ModuleName, place: Path) -> OperatorCases:
    try:
        data = json.loads(place.read_bytes())
        if "fault" in data:
            fault = Fault(reason=data["fault"]["reason"], detail=data["fault"]["detail"])
            return OperatorCases(operator=name, kind=KIND, cases=(), fault=fault)
        module, case = decode_module(data["module"]), decode_case(data["case"])
        if module.name != name or case.operator != name:
            raise ValueError("it is of another problem")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        fault = Fault(reason="bad_recording", detail=f"what was recorded is no problem: {error}")
        return OperatorCases(operator=name, kind=KIND, cases=(), fault=fault)
    return OperatorCases(operator=name, kind=KIND, cases=(case,), module=module)


def _key(source: ModuleSource) -> str:
    """Return the cache key of a problem: its text and what is around it, versions and recorder."""
    return digest([source.sha256(), [list(item) for item in content_versions()], _recorder_digest()])[:40]


def _recorder_digest() -> str:
    """Return a hash of the code that decides what a recording is."""
    package = Path(__file__).parents[1]
    sources = [
        *sorted((package / "evaluate" / "modules").glob("*.py")),
        package / "model" / "program_json.py",
    ]
    return digest([source_digest(path.read_bytes()) for path in sources])[:16]


def _record(jobs: Sequence[tuple[ModuleSource, Path]]) -> None:
    """Run the recording process over some problems.

    Raises:
        HarnessFault: it fails altogether.
    """
    scratch = Path(tempfile.mkdtemp(prefix="kab-modules-"))
    workers = min(len(jobs), len(os.sched_getaffinity(0)))
    request: dict[str, Any] = {
        "jobs": [
            {
                "path": str(source.path),
                "root": str(source.root),
                "text": source.text,
                "stem": source.name.stem,
                "result": str(place),
            }
            for source, place in jobs
        ],
        "timeout_s": PROBLEM_TIMEOUT_S,
        "workers": workers,
        "memory_bytes": MEMORY_BYTES,
        "scratch": str(scratch),
    }
    try:
        listing = scratch / "jobs.json"
        listing.write_text(json.dumps(request))
        finished = subprocess.run(
            [sys.executable, "-m", "kagent_bench.throwaway", RECORDER, str(listing)],
            cwd=scratch,
            env=_environment(scratch),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60.0 + PROBLEM_TIMEOUT_S * -(-len(jobs) // workers),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        message = f"recording {len(jobs)} problem files did not end"
        raise HarnessFault(message, hint="try again on a machine that is less busy") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if any(not place.exists() for _, place in jobs):
        last = (finished.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        message = f"recording problem files failed with exit code {finished.returncode}: {last}"
        raise HarnessFault(message, hint="run kab doctor; is torch installed and working?")


def _environment(scratch: Path) -> dict[str, str]:
    own = process_environment()
    kept: dict[str, str] = {name: own[name] for name in PASSED_ON if name in own}
    return {
        **kept,
        # Files are recorded on the CPU, in forks: a device that PyTorch looked at before could not be used in them.
        **dict.fromkeys(DEVICE_VARIABLES, ""),
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        "PYTHONHASHSEED": "0",
        "PYTHONSAFEPATH": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "TMPDIR": str(scratch),
    }
