"""What ``kab config show`` prints: every setting with its value, its origin and the ways to change it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kagent_bench.config.generator_keys import GENERATORS, NO_OPTIONS, GeneratorKeys, option_path
from kagent_bench.config.keys import BY_PATH, Kind

if TYPE_CHECKING:
    from kagent_bench.config.keys import Key
    from kagent_bench.config.resolve import ResolvedSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One setting."""

    path: str
    value: Any
    """JSON value."""
    origin: str
    variable: str | None
    option: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)

    def cells(self) -> tuple[str, ...]:
        """Return the texts of a row."""
        value = ",".join(self.value) if isinstance(self.value, list) else self.value
        shown = "-" if value is None or value == "" else str(value)
        return self.path, shown, self.origin, self.variable or "-", self.option or "-"


def settings_rows(resolved: ResolvedSettings, options: GeneratorKeys = NO_OPTIONS) -> list[SettingRow]:
    """Return every setting, in the schema's order; a tolerance has one row per dtype that was given.

    Args:
        resolved: the settings.
        options: what the generators declare.
    """
    settings = resolved.to_json()["settings"]
    rows: list[SettingRow] = []
    for path, key in BY_PATH.items():
        if key.kind is Kind.TOLERANCE:
            found = settings[path]
            rows.extend(_row(resolved, f"{path}.{dtype}", value, key) for dtype, value in found.items())
            if not found:
                rows.append(
                    SettingRow(
                        path=path, value=None, origin="default", variable=key.variable, option=key.flag
                    )
                )
            continue
        section, _, leaf = path.rpartition(".")
        value = settings[section][leaf] if section else settings[leaf]
        rows.append(_row(resolved, path, value, key))
    declared = {key.path: key for keys in options.values() for key in keys}
    for name, table in settings[GENERATORS].items():
        for option, value in table.items():
            path = option_path(name, option)
            rows.append(_row(resolved, path, value, declared.get(path)))
    return rows


def _row(resolved: ResolvedSettings, path: str, value: object, key: Key | None) -> SettingRow:
    return SettingRow(
        path=path,
        value=value,
        origin=resolved.origins[path],
        variable=key.variable if key else None,
        option=key.flag if key else None,
    )
