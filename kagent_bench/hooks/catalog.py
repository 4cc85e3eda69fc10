"""The catalog: everything that plugins offer, by kind and name, with its owner; nothing is loaded by listing."""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from kagent_bench.errors import KabError, PluginError, UnknownName
from kagent_bench.hooks import protocols
from kagent_bench.hooks.entries import (
    DtypeFilterEntry,
    Entry,
    ExecutorEntry,
    GeneratorEntry,
    ReportFormatEntry,
    SuiteEntry,
)
from kagent_bench.hooks.manager import LoadFailure, Owner, Plugins, build_manager, fail

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """What the catalog must know of one hook."""

    hook: str
    words: str
    """The kind in messages."""
    entry: type[Entry[Any]]
    protocol: type[Any]


_KINDS = {
    "generators": _Kind(
        hook="kab_generators",
        words="generator",
        entry=GeneratorEntry,
        protocol=protocols.Generator,
    ),
    "dtype_filters": _Kind(
        hook="kab_dtype_filters",
        words="dtype filter",
        entry=DtypeFilterEntry,
        protocol=protocols.DtypeFilter,
    ),
    "suites": _Kind(
        hook="kab_suites",
        words="suite",
        entry=SuiteEntry,
        protocol=protocols.Suite,
    ),
    "report_formats": _Kind(
        hook="kab_report_formats",
        words="report format",
        entry=ReportFormatEntry,
        protocol=protocols.ReportFormat,
    ),
    "executors": _Kind(
        hook="kab_executors",
        words="executor",
        entry=ExecutorEntry,
        protocol=protocols.Executor,
    ),
}


class Registry(Generic[T]):
    """The entries of one kind."""

    def __init__(self, kind: str, protocol: type[Any], offered: Mapping[str, tuple[Entry[T], Owner]]) -> None:
        """Take what plugins offer, with its owner, by name."""
        self.kind = kind
        """The kind in words, as ``dtype filter``."""
        self._protocol = protocol
        self._offered = dict(sorted(offered.items()))
        self._loaded: dict[str, T] = {}
        self._lock = threading.Lock()

    def names(self) -> tuple[str, ...]:
        """Return every name, sorted."""
        return tuple(self._offered)

    def entries(self) -> tuple[Entry[T], ...]:
        """Return every entry, sorted by name."""
        return tuple(entry for entry, _ in self._offered.values())

    def owner(self, name: str, *, asked_by: str = "the program") -> Owner:
        """Return who offers ``name``.

        Raises:
            UnknownName: nothing of this kind has that name.
        """
        return self._find(name, asked_by)[1]

    def load(self, name: str, *, asked_by: str) -> T:
        """Return the implementation, made at most once per process.

        Args:
            name: as the user typed it.
            asked_by: the option or setting that named it, for the message.

        Raises:
            UnknownName: nothing of this kind has that name.
            PluginError: the plugin raised, or returned something else than its hook promises.
        """
        entry, owner = self._find(name, asked_by)
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = self._make(entry, owner)
            return self._loaded[name]

    def _find(self, name: str, asked_by: str) -> tuple[Entry[T], Owner]:
        try:
            return self._offered[name]
        except KeyError:
            raise UnknownName(self.kind, name, self._offered, asked_by=asked_by) from None

    def _make(self, entry: Entry[T], owner: Owner) -> T:
        try:
            made = entry.load()
        except KabError:
            raise
        except Exception as error:
            message = (
                f"{self.kind} '{entry.name}' of {owner} cannot be loaded: {type(error).__name__}: {error}"
            )
            raise PluginError(message, hint="ask its author, or choose another; see kab plugins") from error
        if isinstance(made, type) or not isinstance(made, self._protocol):
            missing = [name for name in _members(self._protocol) if not hasattr(made, name)]
            lack = f"without {', '.join(missing)}" if missing else "a class, not an instance"
            message = f"{self.kind} '{entry.name}' of {owner} loads as {made!r}, {lack}"
            hint = f"load must return a kagent_bench.hooks.protocols.{self._protocol.__name__}"
            raise PluginError(message, hint=hint)
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """One registered plugin and what it offers."""

    owner: Owner
    offers: Mapping[str, tuple[str, ...]]
    """Names by kind, as ``{"generators": ("baseline",)}``; only kinds that are not empty."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "plugin": self.owner.plugin,
            "distribution": self.owner.distribution,
            "version": self.owner.version,
            "offers": {kind: list(names) for kind, names in self.offers.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Everything that can be chosen by name."""

    generators: Registry[protocols.Generator]
    dtype_filters: Registry[protocols.DtypeFilter]
    suites: Registry[protocols.Suite]
    report_formats: Registry[protocols.ReportFormat]
    executors: Registry[protocols.Executor]
    plugins: tuple[PluginInfo, ...]
    failures: tuple[LoadFailure, ...]
    """Strangers' plugins that were left out."""

    def generator_entries(self) -> tuple[GeneratorEntry, ...]:
        """Return the generators' entries, with the options that they declare."""
        return tuple(entry for entry in self.generators.entries() if isinstance(entry, GeneratorEntry))

    def registries(self) -> dict[str, Registry[Any]]:
        """Return the registries by the name of their kind."""
        return {kind: getattr(self, kind) for kind in _KINDS}


def build_catalog(entry_points: Iterable[EntryPoint] | None = None) -> Catalog:
    """Ask every plugin once for its entries.

    Args:
        entry_points: the plugins; None for the installed ones.

    Raises:
        PluginError: one of our own plugins is broken, or two plugins offer the same name.
    """
    plugins = build_manager(entry_points)
    failures = list(plugins.failures)
    infos: list[PluginInfo] = []
    offered: dict[str, dict[str, tuple[Entry[Any], Owner]]] = {kind: {} for kind in _KINDS}
    for registered, owner in plugins.owners.items():
        try:
            found = _ask(plugins, registered)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's hook may raise anything
            failures.append(fail(owner, error))
            plugins.manager.unregister(name=registered)
            continue
        for kind, items in found.items():
            for entry in items:
                _add(offered[kind], entry, owner, _KINDS[kind].words)
        offers = {
            kind: tuple(sorted(entry.name for entry in items)) for kind, items in found.items() if items
        }
        infos.append(PluginInfo(owner=owner, offers=offers))
    registries = {kind: Registry(data.words, data.protocol, offered[kind]) for kind, data in _KINDS.items()}
    return Catalog(plugins=tuple(infos), failures=tuple(failures), **cast("Any", registries))


def _ask(plugins: Plugins, registered: str) -> dict[str, list[Entry[Any]]]:
    """Call the hooks of one plugin, so that what one raises or returns cannot touch another."""
    plugin = plugins.manager.get_plugin(registered)
    found: dict[str, list[Entry[Any]]] = {}
    for kind, data in _KINDS.items():
        for implementation in getattr(plugins.manager.hook, data.hook).get_hookimpls():
            if implementation.plugin is plugin:
                found.setdefault(kind, []).extend(_checked(implementation.function, data))
    return found


def _checked(hook: Any, kind: _Kind) -> list[Entry[Any]]:
    rule = f"return a list of {kind.entry.__name__}"
    if inspect.isgeneratorfunction(hook):
        message = f"hook {kind.hook} is a generator function"
        raise PluginError(message, hint=rule)
    result = hook()
    if not isinstance(result, list | tuple):
        message = f"hook {kind.hook} returned {type(result).__name__}, not a list"
        raise PluginError(message, hint=rule)
    for entry in result:
        if not isinstance(entry, kind.entry):
            message = f"hook {kind.hook} returned an element that is no {kind.entry.__name__}: {entry!r}"
            raise PluginError(message, hint=rule)
        if not isinstance(entry.name, str) or not _NAME.fullmatch(entry.name) or not callable(entry.load):
            message = f"hook {kind.hook} returned an entry with an unusable name or load: {entry!r}"
            raise PluginError(message, hint="names are lower case: letters, digits, '-', '_', '.'")
    return list(result)


def _add(known: dict[str, tuple[Entry[Any], Owner]], entry: Entry[Any], owner: Owner, kind: str) -> None:
    if entry.name in known:
        message = f"two {kind}s are called '{entry.name}': by {known[entry.name][1]} and by {owner}"
        raise PluginError(
            message, hint="uninstall one of the two distributions; names must be unique in a kind"
        )
    known[entry.name] = (entry, owner)


def _members(protocol: type[Any]) -> list[str]:
    names = {name for name in vars(protocol) if not name.startswith("_")} | set(protocol.__annotations__)
    return sorted(names)
