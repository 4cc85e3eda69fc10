"""One dialogue: what has been said, and what is to be said next. Knows neither network nor judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kab_kernelagent.prompting import as_block, opening, shortened, turn
from kab_kernelagent.steps import JUDGED

if TYPE_CHECKING:
    from kab_kernelagent.prompting import Prompts
    from kab_kernelagent.providers.provider import Message
    from kab_kernelagent.steps import Step

MAX_LACKING = 3
"""Replies in a row without a kernel after which a dialogue is given up."""
_PROSE_CHARS = 2000
"""Characters of a reply without a kernel that stay in the dialogue."""


class Dialogue:
    """One author's work on one problem."""

    def __init__(
        self,
        prompts: Prompts,
        *,
        statement: str,
        function: str,
        index: int,
        dialogues: int,
        max_rounds: int,
    ) -> None:
        """Open a dialogue.

        Args:
            prompts: The templates.
            statement: The problem in words.
            function: What the kernel file must export.
            index: Of this dialogue, from 1.
            dialogues: How many there are.
            max_rounds: Kernels that it may have judged.
        """
        self.index = index
        self.function = function
        self._prompts = prompts
        problem = prompts.problem(statement, function, dialogue=index, dialogues=dialogues)
        self._head = opening(prompts.system(function), problem)
        self._turns: list[Message] = []
        self._max_rounds = max_rounds
        self._lacking = 0
        self.rounds = 0
        """Kernels judged so far."""
        self.exchanges = 0
        """Replies so far."""
        self.last_source: str | None = None

    def messages(self) -> tuple[Message, ...]:
        """Return what is to be sent next."""
        return self._prompts.bounded(self._head, self._turns)

    @property
    def over(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.rounds >= self._max_rounds or self._lacking >= MAX_LACKING

    def take(self, step: Step, reply: str) -> None:
        """Note what became of an exchange."""
        self.exchanges += 1
        if step.result == JUDGED:
            self.rounds += 1
            self._lacking = 0
            self.last_source = step.source
            self._turns += turn(as_block(step.source), self._answer(step))
        else:
            self._lacking += 1
            answer = self._prompts.no_code(step.lack, step.detail, self.function)
            self._turns += turn(shortened(reply, _PROSE_CHARS), answer)

    def _answer(self, step: Step) -> str:
        rounds_left = self._max_rounds - self.rounds
        if step.correct:
            speed = "" if step.speedup is None else f"It runs at {step.speedup:.3g} times the speed of eager."
            return self._prompts.faster(speed, step.timing, rounds_left=rounds_left)
        return self._prompts.refine(
            step.verdict, step.feedback, repeated=step.repeated, rounds_left=rounds_left
        )
