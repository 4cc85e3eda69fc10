"""Options that a generator declares: each becomes a flag, a variable, and a key of the generator's own table."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kagent_bench.errors import PluginError

_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorOption:
    """One option, as ``--max-rounds``, ``KAB_MAX_ROUNDS`` or ``max_rounds`` in ``[generators.<name>]``.

    Generators may declare options of one name: what the user gives is then given to each of them.
    """

    name: str
    """Lower case with underscores."""
    default: str | int | float | bool
    """Its type is the option's: an int must be whole, a float need not be."""
    summary: str
    """One line of help."""
    minimum: float | None = None
    """Smallest value of a number."""
    choices: tuple[str, ...] = ()
    """The only values of a text; empty for any."""

    def __post_init__(self) -> None:
        """Refuse what can be no option.

        Raises:
            PluginError: the name is unusable, or the default is not allowed.
        """
        if not _NAME.fullmatch(self.name):
            message = f"a generator option cannot be called {self.name!r}"
            raise PluginError(message, hint="names are lower case: letters, digits, '_'")
        if self.choices and self.default not in self.choices:
            message = f"the default {self.default!r} of option {self.name} is none of its choices"
            raise PluginError(message, hint=f"choices: {', '.join(self.choices)}")

    @property
    def flag(self) -> str:
        """The option of the command line."""
        return f"--{self.name.replace('_', '-')}"
