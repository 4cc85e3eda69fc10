"""The one exception tree: an expected error, its exit code, and what the user should do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import IntEnum

SHOWN_NAMES = 12
"""Known names that a message lists where none is near."""


class ExitCode(IntEnum):
    """What ``kab`` tells the shell."""

    OK = 0
    """Every selected operator is correct, or lawfully skipped or not judged."""
    FAILURES = 1
    """The phase finished; at least one operator is not fine."""
    USAGE = 2
    """The command, its options, its configuration or its input files are wrong."""
    HARNESS_FAULT = 3
    """The harness itself could not do its work; no kernel is to blame."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C; what was judged is stored."""


class KabError(Exception):
    """An expected error, shown in two lines: what is wrong and where; what to do next."""

    exit_code = ExitCode.HARNESS_FAULT

    def __init__(self, message: str, *, hint: str) -> None:
        """Take what is wrong and where, and what to do next."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def lines(self) -> tuple[str, str]:
        """Return the two lines that a user sees."""
        return f"error[{type(self).__name__}]: {self.message}", f"  {self.hint}"


class UsageError(KabError):
    """The user asked for something that cannot be done as asked."""

    exit_code = ExitCode.USAGE


class UnknownName(UsageError):
    """A name that nothing is registered under."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, asked_by: str) -> None:
        """Take the kind of name, the name, those that exist, and the option that asked for it."""
        names = sorted(known)
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        shown = ", ".join(close or names[:SHOWN_NAMES])
        shown += ", ..." if not close and len(names) > SHOWN_NAMES else ""
        hint = f"near matches: {shown}" if close else f"known: {shown or 'none'}"
        super().__init__(f"no {kind} called '{name}' (asked for by {asked_by})", hint=hint)
        self.kind = kind
        self.name = name
        self.near = tuple(close)


class ConfigError(UsageError):
    """A configuration file, variable or value that cannot be used."""


class InputError(UsageError):
    """A file or folder given by the user that cannot be read as what it should be."""


class PluginError(UsageError):
    """A plugin that breaks the contract of its hook."""


class HarnessFault(KabError):
    """The harness failed; no kernel is to blame."""
