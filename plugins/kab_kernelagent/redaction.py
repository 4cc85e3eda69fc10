"""Takes secrets out of texts: no key may reach a log, a prompt or a kernel, whoever repeats it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kagent_bench.config.environment import process_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_MIN_SECRET = 8
"""Characters of the shortest value that counts: ``true`` is no secret; nor is a number, as of ``MAX_TOKENS``."""
_SHOWN = "[secret]"


def is_secret(name: str) -> bool:
    """Return whether an environment variable of this name holds a secret."""
    return bool(_SECRET_NAME.search(name))


def redactor(environ: Mapping[str, str] | None = None, more: tuple[str, ...] = ()) -> Callable[[str], str]:
    """Return a function that replaces every secret of the environment in a text.

    Args:
        environ: The environment; None for that of this process.
        more: Further secrets.
    """
    found = process_environment() if environ is None else environ
    values = [value.strip() for name, value in found.items() if is_secret(name)]
    secrets = sorted(
        {value for value in (*values, *more) if len(value) >= _MIN_SECRET and not value.isdigit()},
        key=len,
        reverse=True,
    )
    if not secrets:
        return lambda text: text
    pattern = re.compile("|".join(map(re.escape, secrets)))
    return lambda text: pattern.sub(_SHOWN, text)
