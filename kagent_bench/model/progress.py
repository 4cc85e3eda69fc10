"""How long work tells what is done, failed and left; library code never prints."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the progress of one phase. Called from several threads."""

    def begin(self, phase: str, total: int) -> None:
        """Start a phase of ``total`` steps."""
        ...

    def done(self, name: str, outcome: str, *, ok: bool) -> None:
        """Count one finished step, such as an operator with its verdict."""
        ...

    def note(self, text: str) -> None:
        """Say something that only ``-v`` shows."""
        ...

    def tell(self, text: str) -> None:
        """Say why it takes long, to somebody who is watching a terminal."""
        ...

    def warn(self, text: str) -> None:
        """Say something that is shown unless ``-q`` is given."""
        ...

    def finish(self) -> None:
        """End the phase."""
        ...


class Silent:
    """Progress that nobody sees."""

    def begin(self, phase: str, total: int) -> None:
        """Ignore."""

    def done(self, name: str, outcome: str, *, ok: bool) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""

    def tell(self, text: str) -> None:
        """Ignore."""

    def warn(self, text: str) -> None:
        """Ignore."""

    def finish(self) -> None:
        """Ignore."""
