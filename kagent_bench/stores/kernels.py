"""The kernel store: one folder for each operator, in the layout that BackendBench's DirectoryBackend loads.

``<base>/<folder>/<folder>_implementation.py`` exports ``<folder>_kernel_impl`` and is *the* kernel. Beside it
lie ``provenance.json`` and the folder ``attempts``. A folder written by hand or by BackendBench is read as it
is; whatever else lies in it (claimed speedups, logs, feedback files) has no say: only ``evaluate`` judges.

Reading never follows a symbolic link out of the base folder in silence, and a kernel's identity is the hash
of the bytes that were read, wherever they lie.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.errors import HarnessFault, InputError
from kagent_bench.model.identity import source_digest
from kagent_bench.model.kernel import Kernel, Provenance
from kagent_bench.model.names import name_from_folder
from kagent_bench.stores import attempts as attempts_store
from kagent_bench.stores import spending as spending_store
from kagent_bench.stores.atomic import write_text
from kagent_bench.stores.provenance import FILE_NAME, StoredProvenance, read_provenance, write_provenance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.hooks.protocols import Attempt
    from kagent_bench.model.names import ProblemName
    from kagent_bench.model.spending import Spending
    from kagent_bench.stores.attempts import StoredAttempt

SUFFIX = ".py"


class KernelState(str, Enum):
    """What the store knows of an operator's kernel file."""

    ABSENT = "absent"
    """There is no kernel."""
    OURS = "ours"
    """The file is the one that its provenance describes."""
    CUT_OFF = "cut_off"
    """The file is the former kernel: the promotion of the described one was interrupted."""
    FOREIGN = "foreign"
    """The file has no provenance, or was changed since: somebody's own work."""


class KernelStore:
    """The kernels in one base folder. Safe for several threads as long as each works on its own operator."""

    def __init__(self, base_dir: Path) -> None:
        """Name the store; nothing is read or made.

        Args:
            base_dir: The folder of operator folders.
        """
        self.base_dir = Path(base_dir)
        self._warnings: dict[str, None] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What reading came across that a user should know, in order, each once."""
        return tuple(self._warnings)

    def folder(self, operator: ProblemName) -> Path:
        """Return the operator's folder, which need not exist."""
        return self.base_dir / operator.folder

    def path(self, operator: ProblemName) -> Path:
        """Return where a promoted kernel lies, which need not exist."""
        return self.folder(operator) / f"{operator.kernel_stem}{SUFFIX}"

    def operators(self) -> tuple[ProblemName, ...]:
        """Return the operators that have a kernel, sorted. What is no operator folder becomes a warning.

        Raises:
            InputError: the base folder is missing or cannot be read.
        """
        found = []
        for entry in self._entries():
            if not entry.is_dir():
                if entry.suffix == SUFFIX:
                    self._warn(f"{entry}: a kernel file outside an operator folder is not read")
                continue
            try:
                operator = name_from_folder(entry.name)
            except ValueError:
                if self._files(entry):
                    self._warn(
                        f"{entry}: not an operator folder, not read; "
                        f"an operator without overload is '{entry.name}__default'"
                    )
                continue
            if self.find(operator) is not None:
                found.append(operator)
        return tuple(sorted(found, key=str))

    def find(self, operator: ProblemName) -> Kernel | None:
        """Return an operator's kernel, or None. Of several files it is the one that BackendBench takes.

        Raises:
            InputError: the base folder is missing or cannot be read.
        """
        if not self.base_dir.is_dir():
            self._entries()  # says what is wrong with it
        path = self._chosen(operator)
        content = None if path is None else self._read(path)
        if path is None or content is None:
            return None
        return Kernel(operator=operator, path=path, sha256=source_digest(content))

    def read_source(self, kernel: Kernel) -> bytes:
        """Return the bytes of a kernel that ``find`` gave.

        Raises:
            InputError: the file is gone or is not the one that was found any more.
        """
        try:
            content = kernel.path.read_bytes()
        except OSError as error:
            message = f"kernel {kernel.path} cannot be read: {error.strerror}"
            raise InputError(message, hint="run the command again") from error
        if source_digest(content) != kernel.sha256:
            message = f"kernel {kernel.path} changed while it was being used"
            raise InputError(message, hint="let nothing write to the kernels folder, then run it again")
        return content

    def provenance(self, operator: ProblemName) -> Provenance | None:
        """Return what is recorded beside a kernel, whether or not it still describes the kernel file."""
        stored = self._stored(operator)
        return None if stored is None else stored.provenance

    def state(self, operator: ProblemName) -> KernelState:
        """Return whether the kernel file is the one that its provenance describes.

        Raises:
            InputError: the base folder is missing or cannot be read.
        """
        kernel, stored = self.find(operator), self._stored(operator)
        if kernel is None:
            return KernelState.ABSENT
        if stored is None or kernel.path != self.path(operator):
            return KernelState.FOREIGN
        if kernel.sha256 == stored.provenance.sha256:
            return KernelState.OURS
        return KernelState.CUT_OFF if kernel.sha256 == stored.replaces else KernelState.FOREIGN

    def promote(self, operator: ProblemName, source: str, provenance: Provenance) -> Kernel:
        """Make a source text the operator's kernel, each file in one step, the kernel last.

        Raises:
            InputError: the operator's folder is a symbolic link out of the base folder, or cannot be written.
            HarnessFault: the provenance describes another operator or another source.
        """
        sha256 = source_digest(source.encode())
        if provenance.operator != operator or provenance.sha256 != sha256:
            message = f"the provenance of {operator} describes another kernel"
            raise HarnessFault(message, hint="this is a fault of kagent-bench: please report it")
        path = self.path(operator)
        try:
            former = source_digest(path.read_bytes()) if path.is_file() else None
            folder = self._make_folder(operator)
            write_provenance(folder / FILE_NAME, provenance, replaces=former)
            write_text(path, source)
        except OSError as error:
            message = f"kernel {path} cannot be written: {error.strerror}"
            raise InputError(message, hint="check the folder's permissions and free space") from error
        return Kernel(operator=operator, path=path, sha256=sha256)

    def add_attempt(
        self, operator: ProblemName, attempt: Attempt, origin: Mapping[str, str]
    ) -> StoredAttempt:
        """Store a judged kernel beside the promoted one, see ``stores.attempts``.

        Raises:
            InputError: the operator's folder is a symbolic link out of the base folder, or cannot be written.
        """
        try:
            return attempts_store.add_attempt(self._make_folder(operator), attempt, origin)
        except OSError as error:
            message = (
                f"an attempt at {operator} cannot be stored in {self.folder(operator)}: {error.strerror}"
            )
            raise InputError(message, hint="check the folder's permissions and free space") from error

    def add_spending(self, operator: ProblemName, run: str, spending: Spending) -> None:
        """Store what a generation run took for an operator, see ``stores.spending``.

        Raises:
            InputError: the operator's folder is a symbolic link out of the base folder, or cannot be written.
        """
        try:
            spending_store.write_spending(self._make_folder(operator), run, spending)
        except OSError as error:
            message = f"the cost of {operator} cannot be stored in {self.folder(operator)}: {error.strerror}"
            raise InputError(message, hint="check the folder's permissions and free space") from error

    def spending(self, operator: ProblemName) -> Spending | None:
        """Return what all generation runs of an operator took together, None where nothing is recorded."""
        return spending_store.read_spending(self.folder(operator))

    def attempts(self, operator: ProblemName) -> tuple[StoredAttempt, ...]:
        """Return the stored attempts of an operator, oldest first."""
        return attempts_store.read_attempts(self.folder(operator))

    def _entries(self) -> list[Path]:
        try:
            return sorted(self.base_dir.iterdir())
        except OSError as error:
            message = f"kernels folder {self.base_dir} cannot be read: {error.strerror}"
            hint = "name a folder of operator folders with --base-dir, or make one with 'kab setup'"
            raise InputError(message, hint=hint) from error

    def _files(self, folder: Path) -> list[Path]:
        """Return the kernel files of a folder in the order in which BackendBench would take them."""
        try:
            names = sorted(entry.name for entry in folder.iterdir())
        except OSError as error:
            self._warn(f"{folder} cannot be read: {error.strerror}")
            return []
        stem = f"{folder.name}_implementation"
        return [folder / name for name in names if name.startswith(stem) and name.endswith(SUFFIX)]

    def _chosen(self, operator: ProblemName) -> Path | None:
        folder = self.folder(operator)
        files = self._files(folder) if folder.is_dir() else []
        if not files:
            return None
        if len(files) > 1:
            others = ", ".join(path.name for path in files[1:])
            self._warn(f"{folder}: of several kernel files {files[0].name} is read (left out: {others})")
        chosen = files[0]
        if not chosen.resolve().is_relative_to(self.base_dir.resolve()):
            self._warn(f"{chosen} is a symbolic link to {chosen.resolve()}, outside the kernels folder")
        return chosen

    def _read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except OSError as error:
            self._warn(f"{path} cannot be read and counts as missing: {error.strerror}")
            return None

    def _stored(self, operator: ProblemName) -> StoredProvenance | None:
        path = self.folder(operator) / FILE_NAME
        try:
            stored = read_provenance(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self._warn(f"{path} is not a provenance and is not used: {error}")
            return None
        return stored if stored.provenance.operator == operator else None

    def _make_folder(self, operator: ProblemName) -> Path:
        folder = self.folder(operator)
        folder.mkdir(parents=True, exist_ok=True)
        if not folder.resolve().is_relative_to(self.base_dir.resolve()):
            message = f"{folder} is a symbolic link to {folder.resolve()}, outside the kernels folder"
            raise InputError(message, hint="replace the link by a folder; nothing is written through it")
        return folder

    def _warn(self, text: str) -> None:
        self._warnings[text] = None
