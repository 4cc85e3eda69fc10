"""What containment achieved on this machine, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Step(str, Enum):
    """One step of containment."""

    USER_NAMESPACE = "user_namespace"
    MOUNT_NAMESPACE = "mount_namespace"
    PID_NAMESPACE = "pid_namespace"
    NETWORK_NAMESPACE = "network_namespace"
    IPC_NAMESPACE = "ipc_namespace"
    HOSTNAME_NAMESPACE = "hostname_namespace"
    FRESH_PROC = "fresh_proc"
    """``/proc`` shows the processes of the new process namespace only."""
    FILE_VIEW = "file_view"
    """The file system holds the allowed paths and nothing else; only scratch is writable."""
    NO_NESTING = "no_nesting"
    """The candidate cannot make user namespaces of its own."""
    PROCESS_LIMIT = "process_limit"
    MEMORY_LIMIT = "memory_limit"
    FILE_SIZE_LIMIT = "file_size_limit"
    SCRATCH_LIMIT = "scratch_limit"
    """Scratch is a size-limited memory file system that vanishes with the candidate."""
    NO_PRIVILEGES = "no_privileges"
    """No capabilities, and none to be gained."""
    LANDLOCK_FILES = "landlock_files"
    LANDLOCK_TCP = "landlock_tcp"
    LANDLOCK_SCOPES = "landlock_scopes"
    """No signal and no abstract socket leaves the candidate."""

    def __str__(self) -> str:
        """Return the stored word."""
        return self.value


class StepState(str, Enum):
    """How a step went."""

    APPLIED = "applied"
    REFUSED = "refused"
    """The machine refused, or lacks it; the reason says which."""
    OFF = "off"
    """The policy left it out."""

    def __str__(self) -> str:
        """Return the stored word."""
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """One step and how it went."""

    step: Step
    state: StepState
    reason: str = ""
    """Why it was refused, or a remark on what was applied."""

    def __post_init__(self) -> None:
        """Refuse a refusal without a reason.

        Raises:
            ValueError: the step was refused and no reason is given.
        """
        if self.state is StepState.REFUSED and not self.reason:
            msg = f"step {self.step} was refused without a reason"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainmentReport:
    """All steps, and what may be claimed because of them."""

    steps: tuple[StepResult, ...]
    secrecy: bool
    """Whether the contained process itself tried to reach the secrets, and could not."""
    secrecy_reason: str = ""
    """What was reachable, or why that was not tried; empty if secrecy holds."""
    duration_s: float = 0.0
    """Seconds that containment took, up to the innermost process."""

    def applied(self, step: Step) -> bool:
        """Return whether a step is in force."""
        return any(item.step is step and item.state is StepState.APPLIED for item in self.steps)

    @property
    def strays_die(self) -> bool:
        """Whether every process that the candidate starts surely ends with it."""
        return self.applied(Step.PID_NAMESPACE)

    @property
    def signals_stay_inside(self) -> bool:
        """Whether the candidate can neither signal nor stop the processes that judge it."""
        return self.applied(Step.PID_NAMESPACE) or self.applied(Step.LANDLOCK_SCOPES)

    def refusals(self) -> tuple[StepResult, ...]:
        """Return the steps that the machine refused."""
        return tuple(item for item in self.steps if item.state is StepState.REFUSED)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; what is derived is in it for readers and is not read back."""
        return {
            "secrecy": self.secrecy,
            "secrecy_reason": self.secrecy_reason,
            "strays_die": self.strays_die,
            "signals_stay_inside": self.signals_stay_inside,
            "duration_s": self.duration_s,
            "steps": [
                {"step": item.step.value, "state": item.state.value, "reason": item.reason}
                for item in self.steps
            ],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ContainmentReport:
        """Read the JSON form.

        Raises:
            KeyError, TypeError, ValueError: the data is not a report.
        """
        return cls(
            steps=tuple(
                StepResult(step=Step(item["step"]), state=StepState(item["state"]), reason=item["reason"])
                for item in data["steps"]
            ),
            secrecy=bool(data["secrecy"]),
            secrecy_reason=data["secrecy_reason"],
            duration_s=float(data["duration_s"]),
        )


class Ledger:
    """Collects the results of steps in the order in which they are tried; forks inherit it."""

    __slots__ = ("_results",)

    def __init__(self) -> None:
        """Start empty."""
        self._results: dict[Step, StepResult] = {}

    def applied(self, step: Step, remark: str = "") -> None:
        """Record that a step is in force."""
        self._results[step] = StepResult(step=step, state=StepState.APPLIED, reason=remark)

    def refused(self, step: Step, reason: str | OSError) -> None:
        """Record that the machine refused a step."""
        text = describe(reason) if isinstance(reason, OSError) else reason
        self._results[step] = StepResult(step=step, state=StepState.REFUSED, reason=text)

    def off(self, steps: Iterable[Step]) -> None:
        """Record that the policy leaves steps out."""
        for step in steps:
            self._results[step] = StepResult(step=step, state=StepState.OFF)

    def has(self, step: Step) -> bool:
        """Return whether a step is in force."""
        result = self._results.get(step)
        return result is not None and result.state is StepState.APPLIED

    def results(self) -> tuple[StepResult, ...]:
        """Return the results so far, in the order of ``Step``."""
        return tuple(self._results[step] for step in Step if step in self._results)


def describe(error: OSError) -> str:
    """Return what the kernel said and about what, in one line."""
    about = f"{error.filename}: " if error.filename else ""
    return f"{about}{error.strerror or error}"
