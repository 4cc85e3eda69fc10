"""Progress on standard error: a bar on a terminal, lines with ``-v``, silence otherwise."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from kagent_bench.cli.console import say

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from kagent_bench.model.progress import Progress


class Lines:
    """Progress for logs: steps and notes only with ``-v``, warnings unless ``-q``."""

    def __init__(self, *, verbose: bool, quiet: bool) -> None:
        """Take what the user wants to read."""
        self._verbose = verbose
        self._quiet = quiet
        self._lock = threading.Lock()
        self._phase = ""
        self._total = 0
        self._done = 0
        self._failed = 0

    def begin(self, phase: str, total: int) -> None:
        """Start a phase."""
        with self._lock:
            self._phase, self._total, self._done, self._failed = phase, total, 0, 0
        self.note(f"{phase}: {total} to do")

    def done(self, name: str, outcome: str, *, ok: bool) -> None:
        """Count a step."""
        with self._lock:
            self._done += 1
            self._failed += not ok
            text = f"{self._phase}: {self._done}/{self._total} {name}: {outcome}"
        self.note(text)

    def note(self, text: str) -> None:
        """Say it with ``-v``."""
        if self._verbose:
            say(text)

    def tell(self, text: str) -> None:
        """Say it with ``-v``: nobody is watching."""
        self.note(text)

    def warn(self, text: str) -> None:
        """Say it unless ``-q``."""
        if not self._quiet:
            say(f"warning: {text}")

    def finish(self) -> None:
        """Say the end of the phase with ``-v``, once."""
        if self._phase:
            left = self._total - self._done
            self.note(f"{self._phase}: {self._done} done, {self._failed} failed, {left} left")
            self._phase = ""


class Bar(Lines):
    """A live bar with done, failed and left."""

    def __init__(self, *, verbose: bool) -> None:
        """Take what the user wants to read."""
        super().__init__(verbose=verbose, quiet=False)
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def begin(self, phase: str, total: int) -> None:
        """Draw the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.finish()
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed} done, {task.fields[failed]} failed, {task.fields[left]} left"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            redirect_stdout=False,
        )
        with self._lock:
            self._phase, self._total, self._done, self._failed = phase, total, 0, 0
            self._task = bar.add_task(phase, total=total, failed=0, left=total)
            self._bar = bar
        bar.start()

    def done(self, name: str, outcome: str, *, ok: bool) -> None:
        """Count a step and move the bar."""
        super().done(name, outcome, ok=ok)
        if self._bar is not None and self._task is not None:
            left = max(self._total - self._done, 0)
            self._bar.update(self._task, completed=self._done, failed=self._failed, left=left)

    def tell(self, text: str) -> None:
        """Say it: somebody is waiting."""
        say(text)

    def finish(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def make_progress(*, verbose: bool, quiet: bool) -> Progress:
    """Return the progress that fits the terminal and the flags."""
    if sys.stderr.isatty() and not quiet:
        return Bar(verbose=verbose)
    return Lines(verbose=verbose, quiet=quiet)
