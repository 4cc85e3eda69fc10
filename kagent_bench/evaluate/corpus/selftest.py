"""The self-test: the shipped corpus against this installation, and in words what cannot be caught here."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kagent_bench.errors import HarnessFault, UsageError
from kagent_bench.evaluate.compile_check import UNAVAILABLE
from kagent_bench.evaluate.corpus.canary import planted
from kagent_bench.evaluate.corpus.entries import CLASSES, HONEST, Entry, entries
from kagent_bench.evaluate.corpus.judges import Judgement, Judges
from kagent_bench.evaluate.session import Session
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.suites.smoke import SmokeSuite
from kagent_bench.version import installed_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kagent_bench.config.resolve import ResolvedSettings
    from kagent_bench.config.schema import EvaluateSettings
    from kagent_bench.model.progress import Progress
    from kagent_bench.model.selection import OperatorCases

CALL_LIMIT_S = 8.0
"""Seconds for one call of a shipped kernel: far above what any needs, so that a hang costs seconds."""
MEMORY_LIMIT_MIB = 1024
DETAIL_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One shipped kernel and what was said of it."""

    name: str
    kind: str
    shows: str
    verdict: str
    reason: str
    expected: bool
    """Whether this is the verdict that it must get."""
    detail: str
    """Why not, where it is not; else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTestReport:
    """What this installation catches, and what it cannot."""

    machine: Mapping[str, Any]
    findings: tuple[Finding, ...]
    limits: tuple[str, ...]
    """What cannot be caught or shown here, in words."""

    @property
    def ok(self) -> bool:
        """Whether every kernel got the verdict that it must get."""
        return all(item.expected for item in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        kinds = {
            kind: {"kernels": total, "as_expected": good}
            for kind, total, good in _counts(self.findings, lambda item: item.kind)
        }
        return {
            "kab": installed_version() or "unknown",
            "machine": dict(self.machine),
            "ok": self.ok,
            "kinds": kinds,
            "kernels": [
                {
                    "name": item.name,
                    "kind": item.kind,
                    "shows": item.shows,
                    "verdict": item.verdict,
                    "reason": item.reason,
                    "expected": item.expected,
                    "detail": item.detail,
                }
                for item in self.findings
            ],
            "limits": list(self.limits),
        }

    def lines(self) -> list[str]:
        """Return the report as lines for a terminal."""
        versions = ", ".join(f"{name} {version}" for name, version in self.machine["versions"].items())
        lines = [f"kab {installed_version() or 'unknown'} on {self.machine['name']} ({versions})", ""]
        for kind in CLASSES:
            own = [item for item in self.findings if item.kind == kind]
            if own:
                good = sum(item.expected for item in own)
                lines.append(f"{kind:<8} {good} of {len(own)} {_WORDS[kind]}")
                lines.extend(
                    f"  {good} of {total}  {shows}"
                    for shows, total, good in _counts(own, lambda item: item.shows)
                )
        wrong = [item for item in self.findings if not item.expected]
        if wrong:
            lines += ["", "not as it must be:"]
            lines += [f"  {item.name}: {item.verdict} ({item.reason}) {item.detail}" for item in wrong]
        if self.limits:
            lines += ["", "cannot be caught, or not be shown, on this machine:"]
            lines += [f"  {text}" for text in self.limits]
        lines += [
            "",
            "as expected" if self.ok else "NOT as expected: do not trust a score from this installation",
        ]
        return lines


_WORDS = {
    "cheats": "are caught",
    "faulty": "are found wrong",
    "hostile": "are survived and named",
    HONEST: "pass",
}


def run(
    resolved: ResolvedSettings, progress: Progress, *, kinds: Sequence[str] = (), only: Sequence[str] = ()
) -> SelfTestReport:
    """Judge the shipped kernels as ``kab evaluate`` would, under the strict policy and with short limits.

    Args:
        resolved: the settings; device and compile target count.
        progress: told of every kernel.
        kinds: classes to judge; empty for all.
        only: parts of names of kernels to judge; empty for all.

    Raises:
        UsageError: there is no such kind or kernel; the device is not there.
        HarnessFault: nothing can be judged here at all.
    """
    chosen = _chosen(kinds, only)
    settings = replace(resolved.settings, evaluate=_limited(resolved.settings.evaluate))
    with planted() as canary, Session(settings, secret_paths=[canary.folder]) as session:
        interpreted = bool(session.machine["interpreter"])
        judged = [entry for entry in chosen if entry.device == "any" or not interpreted]
        progress.begin("selftest", len(judged))
        found = _judge_all(session, judged, progress)
        leaks = [entry.name for entry, said in found.items() if canary.is_in(_words(said))]
        limits = [*_limits(session, found), *_left_out(chosen, judged)]
        claimed = not any(said.secrecy for said in found.values())
        if leaks and not claimed:
            limits.append(f"keys and files: {', '.join(leaks)} read a planted key")
        findings = tuple(
            _finding(entry, said, compiled=not interpreted, leaked=claimed and entry.name in leaks)
            for entry, said in found.items()
        )
        return SelfTestReport(machine=session.machine, findings=findings, limits=tuple(limits))


def _chosen(kinds: Sequence[str], only: Sequence[str]) -> list[Entry]:
    unknown = sorted(set(kinds) - set(CLASSES))
    if unknown:
        raise UsageError(
            f"there is no kind '{unknown[0]}' (asked for by --kind)", hint="known: " + ", ".join(CLASSES)
        )
    everything = entries()
    if not everything:
        raise HarnessFault("the shipped kernels are not there", hint="install kagent-bench again")
    for part in only:
        if not any(part in entry.name for entry in everything):
            raise UsageError(
                f"no shipped kernel is called like '{part}' (asked for by --only)",
                hint="kab selftest --json lists all",
            )
    return [
        entry
        for entry in everything
        if (not kinds or entry.group in kinds) and (not only or any(part in entry.name for part in only))
    ]


def _limited(evaluate: EvaluateSettings) -> EvaluateSettings:
    return replace(
        evaluate,
        policy="strict",
        case_timeout_s=CALL_LIMIT_S,
        startup_timeout_s=CALL_LIMIT_S,
        memory_limit_mib=MEMORY_LIMIT_MIB,
    )


def _judge_all(session: Session, chosen: Sequence[Entry], progress: Progress) -> dict[Entry, Judgement]:
    judges = Judges(session, cases)
    try:
        futures = {entry: judges.submit(entry) for entry in chosen}
        found = {}
        for entry, future in futures.items():
            said = future.result()
            found[entry] = said
            outcome = f"{said.verdict} ({said.reason})" if said.reason else said.verdict
            compiled = not session.machine["interpreter"]
            progress.done(entry.name, outcome, ok=entry.allows(said.verdict, said.reason, compiled=compiled))
    finally:
        judges.close()
        progress.finish()
    return found


def cases(entry: Entry) -> OperatorCases:
    """Return the cases of the suite ``smoke``, which is there at once."""
    request = SuiteRequest(operators=frozenset({entry.operator}), dtypes=frozenset(entry.dtypes))
    (item,) = SmokeSuite().operators(request)
    return item


def _finding(entry: Entry, said: Judgement, *, compiled: bool, leaked: bool) -> Finding:
    expected = entry.allows(said.verdict, said.reason, compiled=compiled) and not leaked
    detail = "read a planted key" if leaked else " ".join(str(said).split())[:DETAIL_CHARACTERS]
    return Finding(
        name=entry.name,
        kind=entry.group,
        shows=entry.shows,
        verdict=said.verdict,
        reason=said.reason,
        expected=expected,
        detail="" if expected else detail,
    )


def _words(said: Judgement) -> str:
    return said.printed + "".join(record.detail for record in said.records)


def _limits(session: Session, found: Mapping[Entry, Judgement]) -> list[str]:
    limits = []
    if session.machine["interpreter"]:
        limits.append("time: without a GPU nothing is timed, so no cheat on time can be shown or happen")
        limits.append("devices: streams, graphs and races of a GPU do not exist in Triton's interpreter")
    else:
        limits.append(
            "origin: a device's memory is not watched, so what other code than torch's computes behind a raw pointer, "
            "beside a kernel that also runs, is not told"
        )
    if session.ability is not None:
        limits += [f"dtypes: {text}" for text in session.ability.words() if not text.endswith(": judged")]
    limits += sorted({f"secrecy: {said.secrecy}" for said in found.values() if said.secrecy})
    checks = {record.compile_check for said in found.values() for record in said.records}
    limits += sorted(
        f"compiling: {text.removeprefix(UNAVAILABLE)}" for text in checks if text.startswith(UNAVAILABLE)
    )
    if session.machine["interpreter"] and session.compile_target is None:
        limits.append("compiling: compile_target is none, so what only an interpreter runs is not told")
    return limits


def _left_out(chosen: Sequence[Entry], judged: Sequence[Entry]) -> list[str]:
    left = len(chosen) - len(judged)
    return [f"devices: {left} kernels whose trick needs a GPU were left out"] if left else []


def _counts(findings: Iterable[Finding], key: Any) -> list[tuple[str, int, int]]:
    """Return what kernels have in common, how many there are, and how many are as expected."""
    total: Counter[str] = Counter()
    good: defaultdict[str, int] = defaultdict(int)
    for item in findings:
        total[key(item)] += 1
        good[key(item)] += item.expected
    return [(name, number, good[name]) for name, number in total.items()]
