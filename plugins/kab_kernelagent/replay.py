"""Answers from the record of a run instead of a server, and only to the very same text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kab_kernelagent.account import reply_from_json
from kagent_bench.errors import HarnessFault

if TYPE_CHECKING:
    from collections.abc import Callable

    from kab_kernelagent.outcome import Reply
    from kab_kernelagent.providers.provider import Message
    from kab_kernelagent.store import Place, RunStore

_SHOWN = 120


class Replayer:
    """Takes the place of ``calls.Caller``."""

    def __init__(self, recorded: RunStore, store: RunStore) -> None:
        """Take the record, and the run that is being made from it."""
        self._recorded = recorded
        self._store = store

    def ask(self, place: Place, messages: tuple[Message, ...], wanted: Callable[[], bool]) -> Reply:
        """Return the recorded reply.

        Raises:
            HarnessFault: the record has no such exchange, or what would be sent differs from what was sent.
        """
        del wanted
        request = self._recorded.recorded_request(place)
        if request is None:
            message = f"the record {self._recorded.path} has no exchange {place}"
            raise HarnessFault(message, hint="give the folder of a whole run to --replay")
        texts = [self._store.redacted(item.text) for item in messages]
        sent = [str(item["content"]) for item in request["messages"]]
        if texts != sent:
            message = f"exchange {place} of {self._recorded.path} was about another text: {_difference(sent, texts)}"
            raise HarnessFault(
                message, hint="repeat it with the versions, suite and settings that its run.json names"
            )
        reply = self._recorded.find_reply(place, request)
        if reply is None:
            message = f"the record {self._recorded.path} has no reply to exchange {place}"
            raise HarnessFault(message, hint="give the folder of a whole run to --replay")
        self._store.write_request(place, request)
        self._store.write_reply(place, request, _without_identity(reply))
        return reply_from_json(reply)


def _without_identity(reply: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in reply.items() if name != "request_sha256"}


def _difference(sent: list[str], texts: list[str]) -> str:
    """Return the first line in which two dialogues differ."""
    former, new = "\n".join(sent).split("\n"), "\n".join(texts).split("\n")
    for place, (old, other) in enumerate(zip(former, new, strict=False), 1):
        if old != other:
            return f"line {place} was {old[:_SHOWN]!r} and is {other[:_SHOWN]!r}"
    return f"it had {len(former)} lines and has {len(new)}"
