"""Opens trace suites: of files that a user names, and of the data that this package ships."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.errors import InputError, UsageError
from kagent_bench.suites.trace.load import load_traces
from kagent_bench.suites.trace.suite import TraceSuite
from kagent_bench.version import installed_version

if TYPE_CHECKING:
    from collections.abc import Sequence

DIGITS = 12
"""Hexadecimal digits of a file's hash that are told."""
SHIPPED = "models.txt.xz"
"""The trace that comes with this package, see ``suites.tracing.models``."""
PUBLIC_DATA = "GPUMODE/backendbench_tests"
"""BackendBench's data set on Hugging Face."""
PUBLIC_REVISION = "ca7b1361b162d1499cb22ea4ad589dae506ead5d"
"""The revision that BackendBench itself is pinned to (commit 66e0dbc)."""
PUBLIC_FILE = "backend_bench_problems.parquet"


def file_suite(names: Sequence[str]) -> TraceSuite:
    """Return the suite of trace files, and of folders of them.

    Raises:
        InputError: a path is missing, or is no trace by its name.
        UsageError: a Parquet file, and pyarrow is not installed.
    """
    loaded = load_traces([Path(name) for name in names])
    what = f"{len(loaded.files)} files" if len(loaded.files) > 1 else loaded.files[0]
    where = f" of {', '.join(names)}" if len(loaded.files) > 1 else ""
    return TraceSuite(lambda: loaded, f"data: {what}{where}, sha256 {_sha256(*loaded.files)}")


def shipped_suite() -> TraceSuite:
    """Return the suite of the models whose trace comes with this package; needs no network."""
    path = shipped_file()
    about = f"data: the models recorded with kab {installed_version() or 'unknown'}, sha256 {_sha256(path)}"
    return TraceSuite(lambda: load_traces([path]), about)


def shipped_file() -> Path:
    """Return the trace that comes with this package."""
    return Path(str(resources.files(__package__).joinpath("data").joinpath(SHIPPED)))


def public_suite() -> TraceSuite:
    """Return the suite of BackendBench's public data, fetched once.

    Raises:
        UsageError: huggingface_hub is not installed.
        InputError: the data is not here and cannot be fetched.
    """
    path = _fetched()
    about = f"data: {PUBLIC_DATA} at {PUBLIC_REVISION}, {PUBLIC_FILE}, sha256 {_sha256(path)}"
    return TraceSuite(lambda: load_traces([path]), about)


def _fetched() -> Path:
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        message = f"the data set {PUBLIC_DATA} is fetched by huggingface_hub, which is not installed"
        raise UsageError(message, hint="install it: pip install 'kagent-bench[traces]'") from error
    try:
        return Path(hf_hub_download(PUBLIC_DATA, PUBLIC_FILE, repo_type="dataset", revision=PUBLIC_REVISION))
    except Exception as error:  # its errors have no common base
        said = (str(error).splitlines() or [type(error).__name__])[0]
        message = f"{PUBLIC_FILE} of {PUBLIC_DATA} at {PUBLIC_REVISION[:DIGITS]} cannot be fetched: {said}"
        hint = "go online once, or use --suite torchbench, which needs no network, or --suite-file FILE"
        raise InputError(message, hint=hint) from error


def _sha256(*files: str | Path) -> str:
    digest = hashlib.sha256()
    for name in files:
        digest.update(Path(name).read_bytes())
    return digest.hexdigest()[:DIGITS]
