"""Chooses the provider, and finds out before any work that it cannot be used."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kab_kernelagent.options import ANTHROPIC, AUTO, OPENAI
from kagent_bench.config.environment import variable
from kagent_bench.errors import UsageError

if TYPE_CHECKING:
    from kab_kernelagent.options import AgentOptions
    from kab_kernelagent.providers.provider import Provider

_KEY_VARIABLES = {OPENAI: "OPENAI_API_KEY", ANTHROPIC: "ANTHROPIC_API_KEY"}
_URL_VARIABLES = {OPENAI: "OPENAI_BASE_URL", ANTHROPIC: "ANTHROPIC_BASE_URL"}
_NO_KEY = "no-key"
"""Sent to a server of the user's own where no key is set: local servers want none, the clients want one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where calls go."""

    provider: str
    base_url: str | None
    """None for the provider's own server."""
    key: str

    @property
    def official(self) -> bool:
        """Whether the provider's own server is called, so that its price list holds."""
        return self.base_url is None


def endpoint(options: AgentOptions) -> Endpoint:
    """Return where calls go.

    Raises:
        UsageError: no model is named, a package or a key is missing, or the address cannot be used.
    """
    if not options.model:
        message = "no language model is named for generator 'kernelagent'"
        raise UsageError(message, hint="name one: --model NAME, with --base-url for a server of your own")
    provider = options.provider
    if provider == AUTO:
        provider = ANTHROPIC if options.model.startswith("claude") and not options.base_url else OPENAI
    if importlib.util.find_spec(provider) is None:
        message = f"the Python package '{provider}' is not installed, which calls of '{options.model}' need"
        raise UsageError(message, hint=f"pip install 'kagent-bench[{provider}]'")
    url = options.base_url or variable(_URL_VARIABLES[provider]) or ""
    _check_url(url)
    key = variable(_KEY_VARIABLES[provider])
    if key is None and not url:
        message = f"no key for '{options.model}': {_KEY_VARIABLES[provider]} is not set"
        raise UsageError(message, hint="set that variable, or name a server of your own with --base-url")
    return Endpoint(provider=provider, base_url=url or None, key=key or _NO_KEY)


def connect(where: Endpoint, *, stream: bool) -> Provider:
    """Return the provider's client; nothing is sent."""
    if where.provider == ANTHROPIC:
        from kab_kernelagent.providers.anthropic_client import AnthropicProvider

        return AnthropicProvider(base_url=where.base_url, key=where.key, stream=stream)
    from kab_kernelagent.providers.openai_client import OpenAIProvider

    return OpenAIProvider(base_url=where.base_url, key=where.key, stream=stream)


def _check_url(url: str) -> None:
    if not url:
        return
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        message = f"'{url}' is no address of a server (--base-url)"
        raise UsageError(message, hint="write for example http://localhost:8000/v1")
    if parts.username or parts.password or parts.query:
        message = "the address of a server (--base-url) holds a secret, which would be stored with every run"
        raise UsageError(message, hint="set the key's variable instead: OPENAI_API_KEY or ANTHROPIC_API_KEY")
