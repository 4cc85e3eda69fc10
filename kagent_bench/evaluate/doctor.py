"""What this installation can judge: device, versions, self-test, containment, and pairs known not to work."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kagent_bench.config.environment import cache_root
from kagent_bench.config.files import configs_dir
from kagent_bench.errors import KabError, UsageError
from kagent_bench.evaluate.containment import probe
from kagent_bench.evaluate.session import Session
from kagent_bench.evaluate.timing.peaks import store_measured
from kagent_bench.version import installed_version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.config.resolve import ResolvedSettings
    from kagent_bench.evaluate.containment import ContainmentReport

OPTIONAL = {
    "BackendBench": "BackendBench is not needed; with it, its suites can be compared",
    "triton_kernel_agent": "KernelAgent is not needed; with it, its own agent can be driven",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """The findings."""

    machine: Mapping[str, Any]
    """The oracle's description; empty where it could not start."""
    ability: Mapping[str, Any]
    ability_words: tuple[str, ...]
    containment: Mapping[str, Any]
    containment_words: tuple[str, ...]
    optional: Mapping[str, bool]
    problems: tuple[str, ...]
    """What keeps this installation from judging; empty if nothing does."""
    folders: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """Whether kernels can be judged here."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "kab": installed_version() or "unknown",
            "machine": dict(self.machine),
            "ability": dict(self.ability),
            "containment": dict(self.containment),
            "optional": dict(self.optional),
            "folders": dict(self.folders),
            "problems": list(self.problems),
            "ok": self.ok,
        }

    def lines(self) -> list[str]:
        """Return the report as lines for a terminal."""
        lines = [f"kab {installed_version() or 'unknown'}"]
        if self.machine:
            lines.append(f"device       {self.machine['name']}")
            if self.machine["interpreter"]:
                lines.append("             correctness only: no speed is ever claimed without a GPU")
            lines.extend(f"{name:<12} {version}" for name, version in self.machine["versions"].items())
        lines.extend(
            f"{'judging' if not index else '':<12} {text}" for index, text in enumerate(self.ability_words)
        )
        lines.extend(
            f"{'containment' if not index else '':<12} {text}"
            for index, text in enumerate(self.containment_words)
        )
        lines.extend(
            f"{'optional' if not index else '':<12} {text}" for index, text in enumerate(self._optional())
        )
        lines.extend(f"{name:<12} {path}" for name, path in self.folders.items())
        lines.extend(f"problem      {text}" for text in self.problems)
        return lines

    def _optional(self) -> list[str]:
        return [
            f"{name}: {'installed' if found else 'not installed'}" for name, found in self.optional.items()
        ]


def examine(resolved: ResolvedSettings) -> DoctorReport:
    """Start everything once, judge kernels that are known to be right, and contain a process."""
    machine: Mapping[str, Any] = {}
    ability: Mapping[str, Any] = {}
    words: tuple[str, ...] = ()
    problems: list[str] = []
    containment, containment_words = _containment(problems)
    try:
        with Session(resolved.settings) as session:
            machine = session.machine
            if session.ability is not None:
                ability, words = session.ability.to_json(), tuple(session.ability.words())
    except KabError as error:
        problems.append(f"{error.message} ({error.hint})")
    problems.extend(known_bad(machine.get("versions", {}), interpreter=machine.get("interpreter", True)))
    return DoctorReport(
        machine=machine,
        ability=ability,
        ability_words=words,
        containment=containment,
        containment_words=containment_words,
        optional={name: importlib.util.find_spec(name) is not None for name in OPTIONAL},
        problems=tuple(problems),
        folders={"configs": str(configs_dir()), "cache": str(cache_root() / "kagent-bench")},
    )


def measure_device(resolved: ResolvedSettings) -> tuple[str, Mapping[str, Any]]:
    """Measure the device's bandwidth and matrix rate and keep them; returns its name and the figures.

    Raises:
        UsageError: there is no device to measure.
    """
    with Session(resolved.settings) as session:
        name = session.machine["name"]
        if session.machine["interpreter"]:
            message = "there is no device to measure (asked for by --measure)"
            raise UsageError(message, hint="run kab doctor --measure on the machine with the GPU")
        found, _ = session.oracle(0).request({"do": "measure"})
    store_measured(name, found["bytes_per_s"], found["flops_per_s"])
    return name, found


def _containment(problems: list[str]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    try:
        report = probe()
    except KabError as error:
        problems.append(error.message)
        return {}, ()
    return report.to_json(), tuple(_containment_words(report))


def _containment_words(report: ContainmentReport) -> list[str]:
    words = [
        "secrets are out of a kernel's reach" if report.secrecy else f"no secrecy: {report.secrecy_reason}"
    ]
    words.append(
        "what a kernel starts ends with it" if report.strays_die else "a kernel's strays may survive"
    )
    words.extend(f"refused here: {item.step.value} ({item.reason})" for item in report.refusals())
    return words


def known_bad(versions: Mapping[str, str], *, interpreter: bool) -> list[str]:
    """Return version pairs that are known not to work together.

    Triton's interpreter before 3.7 fails outright with NumPy 2.4 and newer.
    """
    triton, numpy = (_numbers(versions.get(name, "")) for name in ("triton", "numpy"))
    if interpreter and triton and numpy and triton < (3, 7) and numpy >= (2, 4):
        return [
            "Triton before 3.7 cannot interpret kernels with NumPy 2.4 or newer; upgrade triton or pin numpy<2.4"
        ]
    return []


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"(\d+)\.(\d+)", version)
    return tuple(int(part) for part in match.groups()) if match else ()
