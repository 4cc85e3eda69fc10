"""The dialogues of one operator as a story in Markdown, for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kab_kernelagent.steps import JUDGED
from kab_kernelagent.store import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kab_kernelagent.steps import Step
    from kab_kernelagent.store import RunStore

FILE_NAME = "transcript.md"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal would obey rather than show."""
_SHOWN_CHARS = 20_000
"""Characters of one message that are shown; the whole is in the JSON files."""


def write_transcript(store: RunStore, op_name: str, folder: str, steps: Iterable[Step], ending: str) -> None:
    """Write what was said and judged, dialogue by dialogue.

    Args:
        store: The run.
        op_name: The operator.
        folder: Its folder name.
        steps: What became of each exchange.
        ending: How it ended, in words.
    """
    ordered = sorted(steps, key=lambda step: (step.dialogue, step.number))
    lines = [f"# {op_name}", "", ending, ""]
    for step in ordered:
        if step.number == 1:
            lines += [f"## Dialogue {step.dialogue}", ""]
        place = Place(folder=folder, dialogue=step.dialogue, number=step.number)
        lines += _exchange(store, place, step)
    store.write_text(folder, FILE_NAME, "\n".join(lines))


def _exchange(store: RunStore, place: Place, step: Step) -> Iterator[str]:
    request = store.recorded_request(place) or {"messages": []}
    reply = store.find_reply(place, request) or {}
    messages: list[dict[str, Any]] = request["messages"]
    for message in messages if place.number == 1 else messages[-1:]:
        yield from (f"### {message['role']} says", "", _quoted(message["content"]), "")
    facts = ", ".join(
        text
        for text in (
            str(reply.get("model") or ""),
            f"{reply.get('tokens_in')} tokens in, {reply.get('tokens_out')} out",
            f"{reply.get('latency_s') or 0:.1f} s",
            f"finish: {reply.get('finish')}",
        )
        if text
    )
    yield from (f"### The model answers ({facts})", "", _quoted(str(reply.get("text", ""))), "")
    if step.result == JUDGED:
        again = " (the same kernel as before)" if step.repeated else ""
        yield from (f"### The judge says: {step.verdict}{again}", "")
        if step.feedback:
            yield from (_quoted(step.feedback), "")
    else:
        yield from (f"### Nothing to judge: {step.lack}", "", step.detail, "")


def _quoted(text: str) -> str:
    """Return a text as a fenced block that nothing in it can end, without what a terminal would obey."""
    shown = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
    if len(shown) > _SHOWN_CHARS:
        shown = f"{shown[:_SHOWN_CHARS]}\n[... {len(shown) - _SHOWN_CHARS} more characters]"
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(longest + 1, 4)
    return f"{fence}\n{shown}\n{fence}"
