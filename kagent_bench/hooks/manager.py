"""Builds the pluggy manager from the installed entry points of the group ``kagent_bench``.

Ours (distribution ``kagent-bench``) fail hard, because then the installation is broken. A stranger's plugin
fails alone: it is left out as a whole and recorded with its owner, so that it can be named.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pluggy

from kagent_bench.errors import PluginError
from kagent_bench.hooks import specs

OUR_DISTRIBUTION = "kagent-bench"
"""Distribution whose plugins must all load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who offers something: an entry point of a distribution."""

    plugin: str
    """Name of the entry point."""
    distribution: str
    """Normalised name of the distribution."""
    version: str

    @property
    def ours(self) -> bool:
        """Whether the plugin comes with this package."""
        return self.distribution == OUR_DISTRIBUTION

    def __str__(self) -> str:
        """Return words for a message."""
        return f"plugin '{self.plugin}' of distribution {self.distribution} {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFailure:
    """A stranger's plugin that was left out, and why."""

    owner: Owner
    error: str
    """One line."""

    def to_json(self) -> dict[str, str]:
        """Return the JSON form."""
        return {
            "plugin": self.owner.plugin,
            "distribution": self.owner.distribution,
            "version": self.owner.version,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugins:
    """The manager with what it does not know itself: owners and failures."""

    manager: pluggy.PluginManager
    owners: Mapping[str, Owner]
    """By the name under which the plugin is registered."""
    failures: tuple[LoadFailure, ...]


def build_manager(entry_points: Iterable[importlib.metadata.EntryPoint] | None = None) -> Plugins:
    """Import and register every installed plugin.

    Args:
        entry_points: the plugins; None for the installed ones.

    Raises:
        PluginError: one of our own plugins cannot be used.
    """
    manager = pluggy.PluginManager(specs.PROJECT)
    manager.add_hookspecs(specs)
    owners: dict[str, Owner] = {}
    failures: list[LoadFailure] = []
    if entry_points is None:
        entry_points = importlib.metadata.entry_points(group=specs.PROJECT)
    for entry_point in sorted(entry_points, key=lambda item: (owner_of(item).distribution, item.name)):
        owner = owner_of(entry_point)
        registered = f"{owner.distribution}:{owner.plugin}"
        try:
            _register(manager, entry_point, registered)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's module may raise anything
            failures.append(fail(owner, error))
        else:
            owners[registered] = owner
    return Plugins(manager=manager, owners=owners, failures=tuple(failures))


def owner_of(entry_point: importlib.metadata.EntryPoint) -> Owner:
    """Return who declared an entry point."""
    distribution = entry_point.dist
    if distribution is None:
        return Owner(plugin=entry_point.name, distribution="unknown", version="unknown")
    name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
    return Owner(plugin=entry_point.name, distribution=name, version=distribution.version)


def fail(owner: Owner, error: BaseException) -> LoadFailure:
    """Return the failure of a stranger's plugin.

    Raises:
        PluginError: the plugin is one of ours.
    """
    words = " ".join(str(error).split())
    failure = LoadFailure(
        owner=owner, error=f"{type(error).__name__}: {words}" if words else type(error).__name__
    )
    if owner.ours:
        message = f"{owner} cannot be loaded: {failure.error}"
        raise PluginError(message, hint="the installation is damaged: install kagent-bench again") from error
    return failure


def _register(manager: pluggy.PluginManager, entry_point: importlib.metadata.EntryPoint, name: str) -> None:
    plugin = entry_point.load()
    if manager.is_registered(plugin):
        message = f"'{entry_point.value}' is registered already, as {manager.get_name(plugin)}"
        raise PluginError(message, hint="declare each plugin module once")
    try:
        manager.register(plugin, name)
        manager.check_pending()
    except Exception:
        # pluggy may leave a plugin that it refused half registered
        if manager.is_registered(plugin):
            manager.unregister(plugin)
        raise
    if not manager.get_hookcallers(plugin):
        manager.unregister(plugin)
        message = f"'{entry_point.value}' has no function marked with @hookimpl"
        raise PluginError(message, hint="see kagent_bench.hooks.specs")
