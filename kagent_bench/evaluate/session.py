"""A judging session: the fork server, an oracle for each worker, and what they found out about this machine."""

from __future__ import annotations

import os
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kagent_bench.config.environment import cache_root, process_environment
from kagent_bench.errors import UsageError
from kagent_bench.evaluate.candidate_process import CandidateLimits
from kagent_bench.evaluate.compile_check import CompileServer
from kagent_bench.evaluate.processes import ForkServer, Nursery, Oracle, looks_like_gpu_machine
from kagent_bench.evaluate.self_test.ability import Ability, examine
from kagent_bench.evaluate.supervisor import JudgeSettings, Supervisor
from kagent_bench.evaluate.timing.conductor import TimingSettings
from kagent_bench.evaluate.timing.device_lock import lock_path
from kagent_bench.evaluate.timing.peaks import peaks_of
from kagent_bench.evaluate.tolerance import tolerance_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from typing_extensions import Self

    from kagent_bench.config.schema import EvaluateSettings, Settings

REFERENCE_TIMEOUT_S = 300.0
"""Seconds for the references of one round; a case whose own reference takes longer is not judged."""
KIB = 1 << 10
MIB = 1 << 20


class Session:
    """Helpers that live as long as this context; supervisors are handed out by worker index."""

    def __init__(self, settings: Settings, *, secret_paths: Iterable[Path] = (), times: bool = False) -> None:
        """Describe a session; helpers start on entering it.

        Args:
            settings: the resolved settings.
            secret_paths: files and folders that candidates must not reach, besides the caches.
            times: whether cases that passed are timed, if the settings and the machine allow.

        Raises:
            UsageError: the devices that are asked for contradict each other.
        """
        self._settings = settings
        self._secret_paths = [*secret_paths, cache_root()]
        self._seed = secrets.token_bytes(32)
        self._times = times
        environment = process_environment()
        self._oracle_nursery = Nursery(Oracle.MODULE, environment)
        self._server_nursery = Nursery(ForkServer.IMPORTS, environment)
        self._oracles: dict[int, Oracle] = {}
        self._supervisors: dict[int, Supervisor] = {}
        self._lock = threading.Lock()
        self._devices = _devices(settings.evaluate)
        self._server: ForkServer | None = None
        self._compile_server: CompileServer | None = None
        self.machine: dict[str, Any] = {}
        """The oracle's description of device and versions."""
        self.ability: Ability | None = None
        """What the self-test found."""

    def __enter__(self) -> Self:
        """Start the helpers and run the self-test.

        Raises:
            UsageError: the device is not there.
            HarnessFault: a helper does not start, or the self-test fails altogether.
        """
        try:
            wants_cpu = self._settings.evaluate.device == "cpu"
            guess = wants_cpu or not looks_like_gpu_machine()
            self._oracle_nursery.begin()
            self._server = ForkServer(self._server_nursery, interpreter=guess)
            if "all" in self._devices:
                self._devices = ("auto",)
            self.machine = self.oracle(0).machine or {}
            if self._settings.evaluate.devices == ("all",):
                self._devices = tuple(self.machine["devices"])
            if self.machine["interpreter"] is not guess:
                self._server.stop()
                self._server = ForkServer(self._server_nursery, interpreter=not guess)
            self._server.wait_ready()
            self.machine["versions"] |= self._server.versions
            self.ability = examine(self.supervisor(0))
            self._supervisors.clear()
            target = self._settings.evaluate.compile_target
            if self.machine["interpreter"] and target != "none":
                self._compile_server = CompileServer(
                    lambda: ForkServer(self._server_nursery, interpreter=False), target
                )
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the helpers."""
        self.close()

    def close(self) -> None:
        """Stop the helpers, all at once, then what they were forked from; safe to call twice."""
        helpers = [self._server, self._compile_server, *self._oracles.values()]
        with ThreadPoolExecutor(len(helpers)) as pool:
            for stopped in [pool.submit(helper.stop) for helper in helpers if helper is not None]:
                stopped.result()
        for nursery in (self._oracle_nursery, self._server_nursery):
            nursery.stop()

    def reseed(self, seed: bytes) -> None:
        """Draw inputs from this secret from now on; call it before work is handed out."""
        self._seed = seed
        for oracle in self._oracles.values():
            oracle.hello["seed"] = seed.hex()
            oracle.greet()

    def add_secret_path(self, path: Path) -> None:
        """Put another path out of candidates' reach; call it before work is handed out."""
        self._secret_paths.append(path)

    @property
    def compile_target(self) -> str | None:
        """What interpreted kernels must also compile for; None where none is tried."""
        return None if self._compile_server is None else self._compile_server.target

    @property
    def n_workers(self) -> int:
        """Kernels judged at a time, if not set otherwise: on the CPU one per core, else one on each device.

        Where times are taken it is one on each device, whatever is set: others would be in the times.
        """
        wanted = self._settings.num_workers
        if self.machine.get("interpreter"):
            return wanted or len(os.sched_getaffinity(0))
        times = self._timing(self.machine) is not None
        return len(self._devices) if times or not wanted else wanted

    def supervisor(self, worker: int) -> Supervisor:
        """Return the supervisor of a worker, made at its first use."""
        with self._lock:
            known = self._supervisors.get(worker)
        if known is not None:
            return known
        oracle = self.oracle(worker)
        machine = oracle.machine or {}
        assert self._server is not None
        evaluate = self._settings.evaluate
        limits = CandidateLimits(
            startup_timeout_s=evaluate.startup_timeout_s,
            call_timeout_s=evaluate.case_timeout_s,
            memory_bytes=evaluate.memory_limit_mib * MIB,
            output_bytes=evaluate.output_limit_kib * KIB,
            secrets=tuple(path.resolve() for path in self._secret_paths if path.exists()),
        )
        judge_settings = JudgeSettings(
            limits=limits,
            kernel_timeout_s=evaluate.kernel_timeout_s,
            timing=self._timing(machine),
            device_lock=lock_path(machine["identity"]),
            strict=evaluate.policy == "strict",
            unjudgeable=self.ability.unjudgeable() if self.ability else {},
        )
        made = Supervisor(oracle, self._server, judge_settings, self._compile_server)
        with self._lock:
            return self._supervisors.setdefault(worker, made)

    def _timing(self, machine: Mapping[str, Any]) -> TimingSettings | None:
        """Return how cases are timed on a machine, None if they are not."""
        evaluate = self._settings.evaluate
        if not self._times or evaluate.performance == "off":
            return None
        if machine["interpreter"] and evaluate.performance != "on":
            return None
        return TimingSettings(peaks=peaks_of(machine["name"]), trace_calls=evaluate.kernel_time_calls)

    @property
    def server(self) -> ForkServer:
        """The fork server, while the session is open."""
        assert self._server is not None
        return self._server

    def oracle(self, worker: int) -> Oracle:
        """Return the oracle of a worker, started at its first use.

        Raises:
            UsageError: its device is not there.
            HarnessFault: it does not start.
        """
        with self._lock:
            known = self._oracles.get(worker)
        if known is not None:
            return known
        evaluate = self._settings.evaluate
        limits = tolerance_table(self._settings.tolerance)
        hello = {
            "do": "hello",
            "seed": self._seed.hex(),
            "device": self._devices[worker % len(self._devices)],
            "limits": {
                dtype: {"relative": item.relative, "accumulated": item.accumulated}
                for dtype, item in limits.items()
            },
            "rounds": evaluate.rounds,
            "policy": evaluate.policy,
            "baselines": list(evaluate.baseline),
            "interpreter_elements": evaluate.interpreter_elements,
        }
        oracle = Oracle(hello, self._oracle_nursery, case_timeout_s=REFERENCE_TIMEOUT_S)
        with self._lock:
            self._oracles[worker] = oracle
        oracle.greet()
        return oracle


def _devices(evaluate: EvaluateSettings) -> tuple[str, ...]:
    """Return the devices to judge on, as they are asked for."""
    several = evaluate.devices
    if not several:
        return (evaluate.device,)
    wrong = None
    if evaluate.device != "auto":
        wrong = f"--devices {','.join(several)} and --device {evaluate.device} contradict each other"
    elif len(set(several)) < len(several) or ("all" in several and len(several) > 1):
        wrong = f"--devices {','.join(several)} names a device twice"
    elif len({name.partition(":")[0] for name in several}) > 1:
        wrong = f"--devices {','.join(several)} names devices of different kinds, whose times do not compare"
    if wrong:
        raise UsageError(wrong, hint="name each device once, all of one kind, or give --device alone")
    return several
