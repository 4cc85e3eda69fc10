"""Turns the exceptions of the official clients into outcomes; both clients name and shape them alike."""

from __future__ import annotations

import email.utils
import json
import math
import time
from typing import Any

from kab_kernelagent.outcome import CallFailedError, CallOutcome

_DETAIL_CHARS = 500
"""Characters of a provider's message that are kept."""
_RETRY_AFTER = "retry-after"
_RETRY_AFTER_MS = "retry-after-ms"
_MAX_WAIT_S = 600.0
"""Longest wait that is taken from a server; a mistaken header must not stop a run for a day."""
_REFUSED_FOR_GOOD = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Codes that come with 429 and that no waiting cures."""
_UNAUTHORISED = frozenset({401, 402, 403})
_PASSING_4XX = frozenset({408, 409, 425})
_TOO_MANY, _OVERLOADED = 429, 529
_ERROR, _SERVER = 400, 500
_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_BY_CODE = {
    "overloaded_error": CallOutcome.RATE_LIMITED,
    "rate_limit_error": CallOutcome.RATE_LIMITED,
    "rate_limit_exceeded": CallOutcome.RATE_LIMITED,
    "insufficient_quota": CallOutcome.UNAUTHORISED,
    "authentication_error": CallOutcome.UNAUTHORISED,
    "permission_error": CallOutcome.UNAUTHORISED,
    "billing_error": CallOutcome.UNAUTHORISED,
    "invalid_request_error": CallOutcome.BAD_REQUEST,
    "not_found_error": CallOutcome.BAD_REQUEST,
    "request_too_large": CallOutcome.BAD_REQUEST,
    "context_length_exceeded": CallOutcome.BAD_REQUEST,
}
"""What errors that come in the middle of a stream mean, by the providers' codes; any other one may pass."""


def failure(error: Exception) -> CallFailedError:
    """Return the failure that a client's exception means.

    Args:
        error: Whatever the client, or the HTTP library below it, raised.
    """
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        detail = f"{type(error).__name__}: {str(error)[:_DETAIL_CHARS]}"
        outcome = _of_status(status, _code(getattr(error, "body", None)))
        return CallFailedError(outcome, detail, retry_after_s=_retry_after(error))
    cause = "" if error.__cause__ is None else f" ({error.__cause__})"
    detail = f"{type(error).__name__}: {str(error)[:_DETAIL_CHARS]}{cause[:_DETAIL_CHARS]}"
    names = {kind.__name__ for kind in type(error).__mro__}
    if any("Timeout" in name for name in names):
        return CallFailedError(CallOutcome.TIMEOUT, detail)
    if "APIResponseValidationError" in names or isinstance(
        error, json.JSONDecodeError | UnicodeDecodeError | AttributeError | TypeError | KeyError | IndexError
    ):
        return CallFailedError(CallOutcome.BROKEN, detail)
    if names & {"APIConnectionError", "TransportError", "OSError", "StreamError"}:
        return CallFailedError(CallOutcome.CONNECTION, detail)
    if "APIError" in names:  # told in the middle of a stream
        return CallFailedError(
            _BY_CODE.get(_code(getattr(error, "body", None)), CallOutcome.SERVER_ERROR), detail
        )
    return CallFailedError(CallOutcome.BROKEN, detail)


def filtered(error: Exception) -> bool:
    """Return whether a client's exception says that the provider's filter would not let the question or answer pass."""
    return _code(getattr(error, "body", None)) in _FILTERED


def _of_status(status: int, code: str) -> CallOutcome:
    if status < _ERROR:  # Anthropic's client gives errors in the middle of a stream the stream's own status
        return _BY_CODE.get(code, CallOutcome.SERVER_ERROR)
    if status in _UNAUTHORISED or code in _REFUSED_FOR_GOOD:
        return CallOutcome.UNAUTHORISED
    if status in {_TOO_MANY, _OVERLOADED}:
        return CallOutcome.RATE_LIMITED
    if status >= _SERVER or status in _PASSING_4XX:
        return CallOutcome.SERVER_ERROR
    return CallOutcome.BAD_REQUEST


def _code(body: object) -> str:
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]  # OpenAI's client takes the inner part, Anthropic's does not
    return str(body.get("code") or body.get("type") or "") if isinstance(body, dict) else ""


def _retry_after(error: Exception) -> float | None:
    """Return the seconds that the server asks to wait, None where it does not ask."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    for name, unit_s in ((_RETRY_AFTER_MS, 1e-3), (_RETRY_AFTER, 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            wait = float(text) * unit_s
        except ValueError:
            moment = email.utils.parsedate_tz(text)
            wait = email.utils.mktime_tz(moment) - time.time() if moment else math.nan
        return min(wait, _MAX_WAIT_S) if wait >= 0 else None
    return None
