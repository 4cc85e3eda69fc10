"""Renders prompts from templates in files, and keeps dialogues within a size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import jinja2

from kab_kernelagent.providers.provider import ASSISTANT, SYSTEM, USER, Message
from kagent_bench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

_TEMPLATES = Path(__file__).parent / "prompts"
SUFFIX = ".md.j2"
_FEEDBACK_CHARS = 6000
"""Characters of feedback in one message: three cases with a call, a worst element and a trimmed error each."""
_STATEMENT_SHARE = 0.5
"""Share of a prompt that the problem may take; the rest is for the dialogue."""


class Prompts:
    """The templates of one run; a folder of the user's own comes first."""

    def __init__(self, *, folder: str, device: str, max_chars: int) -> None:
        """Load the templates.

        Args:
            folder: Folder whose templates take the place of ours of the same name; empty for none.
            device: Kind of device, which chooses the guidance.
            max_chars: Most characters of one prompt.

        Raises:
            ConfigError: the folder is missing, holds no template, or one that jinja cannot read.
        """
        folders = [_TEMPLATES]
        if folder:
            if not list(Path(folder).glob(f"*{SUFFIX}")):
                message = f"folder '{folder}' (--prompts) holds no template named like system{SUFFIX}"
                raise ConfigError(
                    message, hint=f"copy those of ours that you want to change from {_TEMPLATES}"
                )
            folders.insert(0, Path(folder))
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folders),
            undefined=jinja2.StrictUndefined,
            autoescape=False,  # noqa: S701 - Markdown for a model, not HTML for a browser
            keep_trailing_newline=False,
        )
        self._device = device
        self._max_chars = max_chars

    def texts(self) -> dict[str, str]:
        """Return the templates in use by file name."""
        loader = self._environment.loader
        assert loader is not None
        return {name: loader.get_source(self._environment, name)[0] for name in loader.list_templates()}

    def system(self, function: str) -> str:
        """Return the rules."""
        return self._render("system", function=function, device=self._device)

    def problem(self, statement: str, function: str, *, dialogue: int, dialogues: int) -> str:
        """Return the problem, as the first message of a dialogue."""
        cut = shortened(statement, int(self._max_chars * _STATEMENT_SHARE))
        return self._render(
            "problem", statement=cut, function=function, dialogue=dialogue, dialogues=dialogues
        )

    def refine(self, verdict: str, feedback: str, *, repeated: bool, rounds_left: int) -> str:
        """Return what the judge said of a kernel that is not correct."""
        return self._render(
            "refine",
            verdict=verdict,
            feedback=shortened(feedback, _FEEDBACK_CHARS),
            repeated=repeated,
            rounds_left=rounds_left,
        )

    def no_code(self, lack: str, detail: str, function: str) -> str:
        """Return why a reply held nothing to judge."""
        return self._render(
            "no_code", lack=lack, detail=shortened(detail, _FEEDBACK_CHARS), function=function
        )

    def faster(self, speed: str, timing: str, *, rounds_left: int) -> str:
        """Return the request for a faster kernel after a correct one."""
        cut = shortened(timing, _FEEDBACK_CHARS)
        return self._render("faster", speed=speed, timing=cut, rounds_left=rounds_left)

    def bounded(self, head: Sequence[Message], turns: Sequence[Message]) -> tuple[Message, ...]:
        """Return a dialogue within the size: the rules, the problem and the latest turns.

        Args:
            head: System and problem.
            turns: Replies and feedback in turn, oldest first; they leave in pairs.
        """
        room = self._max_chars - sum(len(item.text) for item in head)
        kept = list(turns)
        while len(kept) > 2 and sum(len(item.text) for item in kept) > room:  # noqa: PLR2004 - the latest pair stays
            del kept[:2]
        if sum(len(item.text) for item in kept) > room:
            kept = [Message(role=item.role, text=shortened(item.text, max(room // 2, 1))) for item in kept]
        left_out = (len(turns) - len(kept)) // 2
        if left_out:
            *rules, problem = head
            note = f"\n\n({left_out} earlier attempts are left out here.)"
            head = [*rules, Message(role=problem.role, text=problem.text + note)]
        return (*head, *kept)

    def _render(self, name: str, **values: object) -> str:
        try:
            return self._environment.get_template(name + SUFFIX).render(**values).strip() + "\n"
        except jinja2.TemplateError as error:
            message = f"template {name}{SUFFIX} cannot be used: {type(error).__name__}: {error}"
            raise ConfigError(message, hint="correct it in the folder that --prompts names") from error


def opening(rules: str, problem: str) -> tuple[Message, ...]:
    """Return the first two messages of a dialogue."""
    return Message(role=SYSTEM, text=rules), Message(role=USER, text=problem)


def turn(reply: str, answer: str) -> tuple[Message, ...]:
    """Return a reply and what is said to it."""
    return Message(role=ASSISTANT, text=reply or "(nothing)"), Message(role=USER, text=answer)


def shortened(text: str, limit: int) -> str:
    """Return a text of at most about so many characters, its middle left out: beginnings and ends say most."""
    if len(text) <= limit:
        return text
    half = max(limit // 2, 1)
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def as_block(source: str) -> str:
    """Return a kernel as the Markdown block that it stands for in a dialogue."""
    return f"```python\n{source}```"
