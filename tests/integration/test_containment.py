"""What contained code can and cannot do, tried by code that runs contained."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kagent_bench.evaluate.containment import ContainmentReport, Step, probe

_SERVER = """
import ctypes, json, os, select, signal, socket, sys, time
from dataclasses import replace
from pathlib import Path
from kagent_bench.evaluate.containment import Step, contain, default_policy

request = json.loads(sys.argv[1])
folder = Path(request["folder"])
policy = default_policy(
    folder / "scratch",
    secrets=(folder / "secret",),
    without=frozenset(Step(name) for name in request["without"]),
)
policy = replace(policy, **request["changes"])
exec(request["before"])
server = os.getpid()
for body in request["bodies"]:
    alive, alive_writer = os.pipe()   # open as long as any contained process lives
    answers, answer_writer = os.pipe()
    pid = os.fork()
    if not pid:
        break
    os.close(alive_writer)
    os.close(answer_writer)
    exec(request["meanwhile"])
    _, status = os.waitpid(pid, 0)
    died = bool(select.select([alive], [], [], request["patience_s"])[0])
    with open(answers) as pipe:
        told = [json.loads(line) for line in pipe] if died else []
    print(json.dumps({"status": os.waitstatus_to_exitcode(status), "all_died": died, "told": told}), flush=True)
else:
    sys.exit()
if True:
    try:
        report = contain(policy, keep_fds={2, alive_writer, answer_writer})
        def tell(value):
            os.write(answer_writer, (json.dumps(value) + "\\n").encode())
        def attempt(action):
            try:
                return repr(action())
            except BaseException as error:
                return type(error).__name__
        tell(report.to_json())
        exec(body)
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(99)
    os._exit(0)
"""
_DEADLINE_S = 60.0
_PATIENCE_S = 5.0
_NAMESPACES = (
    Step.USER_NAMESPACE,
    Step.MOUNT_NAMESPACE,
    Step.PID_NAMESPACE,
    Step.NETWORK_NAMESPACE,
    Step.IPC_NAMESPACE,
    Step.HOSTNAME_NAMESPACE,
)
_LANDLOCK = (Step.LANDLOCK_FILES, Step.LANDLOCK_TCP, Step.LANDLOCK_SCOPES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a server saw of a contained process."""

    status: int
    """Exit code, or the negative number of a signal."""
    all_died: bool
    report: ContainmentReport
    told: list[Any]
    """What the contained code told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Runs code contained, in a fork of a fresh interpreter."""

    folder: Path

    def run(
        self,
        body: str,
        *,
        before: str = "",
        meanwhile: str = "",
        without: tuple[Step, ...] = (),
        changes: dict[str, Any] | None = None,
    ) -> Outcome:
        """Run ``body`` contained, and code around it in the server."""
        return self.run_each([body], before=before, meanwhile=meanwhile, without=without, changes=changes)[0]

    def run_each(
        self,
        bodies: list[str],
        *,
        before: str = "",
        meanwhile: str = "",
        without: tuple[Step, ...] = (),
        changes: dict[str, Any] | None = None,
    ) -> list[Outcome]:
        """Run each of ``bodies`` contained in a fork of its own."""
        request = {
            "folder": str(self.folder),
            "bodies": [textwrap.dedent(body) for body in bodies],
            "before": textwrap.dedent(before),
            "meanwhile": textwrap.dedent(meanwhile),
            "without": [step.value for step in without],
            "changes": changes or {},
            "patience_s": _PATIENCE_S,
        }
        done = subprocess.run(
            [sys.executable, "-c", _SERVER, json.dumps(request)],
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=False,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "SECRET_KEY": "hunter2", "OMP_NUM_THREADS": "1"},
        )
        assert 0 == done.returncode, done.stderr
        outcomes = [_outcome(json.loads(line)) for line in done.stdout.splitlines()]
        assert 99 not in {outcome.status for outcome in outcomes}, done.stderr
        return outcomes


def _outcome(data: dict[str, Any]) -> Outcome:
    report = ContainmentReport.from_json(data["told"][0]) if data["told"] else _NO_REPORT
    return Outcome(status=data["status"], all_died=data["all_died"], report=report, told=data["told"][1:])


_NO_REPORT = ContainmentReport(steps=(), secrecy=False, secrecy_reason="processes are still alive")


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """Return a server with a scratch folder and a secret beside it."""
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "kernel.py").write_text("answer = 42\n")
    (tmp_path / "secret").write_text("the seed")
    return Server(folder=tmp_path)


@pytest.fixture(scope="module")
def machine() -> ContainmentReport:
    """Return what this machine allows."""
    return probe()


def _need(machine: ContainmentReport, *steps: Step) -> None:
    for item in machine.refusals():
        if item.step in steps:
            pytest.skip(f"this machine refuses {item.step}: {item.reason}")


def test_secrecy_holds_if_either_wall_stands(machine: ContainmentReport) -> None:
    """The probe claims secrecy on a machine that has a file view or Landlock."""
    walls = machine.applied(Step.FILE_VIEW) or machine.applied(Step.LANDLOCK_FILES)
    assert walls == machine.secrecy, machine.secrecy_reason


_ENDS = {
    "os._exit(0)": 0,
    "os._exit(3)": 3,
    "os.abort()": -signal.SIGABRT,
    "ctypes.string_at(0)": -signal.SIGSEGV,
    "os.kill(os.getpid(), signal.SIGKILL)": -signal.SIGKILL,
    "os.kill(os.getpid(), signal.SIGTERM)": -signal.SIGTERM,
    "signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)": -signal.SIGINT,
}


@pytest.mark.parametrize("without", [(), _NAMESPACES], ids=["namespaces", "bare"])
def test_the_server_sees_how_it_ended(server: Server, without: tuple[Step, ...]) -> None:
    """Exit codes and signals arrive unchanged, with or without a process in between."""
    outcomes = server.run_each(list(_ENDS), without=without)
    assert list(_ENDS.values()) == [outcome.status for outcome in outcomes]


_STRAYS = (
    "os.fork() or time.sleep(60)",
    "os.fork() or (os.setsid(), os.fork() and os._exit(0), time.sleep(60))",
    "os.fork() or ([signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)], os.setsid(), time.sleep(60))",
)
"""A child, a daemon, and one that ignores signals."""


def test_strays_die_with_the_candidate(server: Server, machine: ContainmentReport) -> None:
    """Nothing that a candidate starts outlives it, sessions and ignored signals notwithstanding."""
    _need(machine, Step.PID_NAMESPACE)
    ends = ("os._exit(0)", "os.abort()")
    outcomes = server.run_each([f"{stray}\n{end}" for stray in _STRAYS for end in ends])
    assert [True] * 6 == [outcome.all_died for outcome in outcomes]


def test_killing_the_waiter_kills_all(server: Server, machine: ContainmentReport) -> None:
    """The supervisor kills one process; candidate and strays go with it."""
    _need(machine, Step.PID_NAMESPACE)
    outcome = server.run(
        "os.fork() or os.setsid(); os.write(alive_writer, b'x'); time.sleep(60)",
        meanwhile="""
        os.read(alive, 2)
        os.kill(pid, signal.SIGKILL)
        """,
    )
    assert -signal.SIGKILL == outcome.status
    assert outcome.all_died


@pytest.mark.parametrize("without", [(), _NAMESPACES], ids=["namespaces", "bare"])
def test_the_end_of_the_server_ends_all(tmp_path: Path, without: tuple[Step, ...]) -> None:
    """A server that is killed leaves no candidate behind."""
    (tmp_path / "scratch").mkdir()
    program = """
import os, signal, sys, time
from pathlib import Path
from kagent_bench.evaluate.containment import Step, contain, default_policy
policy = default_policy(Path(sys.argv[1]), without=frozenset(Step(name) for name in sys.argv[2:]))
if not os.fork():
    contain(policy, keep_fds={1})
    os.write(1, b"ready")
    time.sleep(60)
    os._exit(0)
time.sleep(60)
"""
    arguments = [sys.executable, "-c", program, str(tmp_path / "scratch"), *without]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert b"ready" == running.stdout.read(5)
        running.kill()
        assert b"" == running.stdout.read()  # end of file: nobody has it open


_TRIES = """
def read(path):
    with open(path, "rb") as file:
        return file.read(8)
def write(path):
    with open(path, "w") as file:
        file.write("x")
folder = policy.scratch.parent
libc = ctypes.CDLL(None, use_errno=True)
tell({
    "secret": attempt(lambda: read(folder / "secret")),
    "shadow": attempt(lambda: read("/etc/shadow")),
    "home": attempt(lambda: os.listdir(os.path.expanduser("~root")) and os.listdir("/home")),
    "environ": attempt(lambda: read(f"/proc/{server}/environ")),
    "memory": attempt(lambda: read(f"/proc/{server}/mem")),
    "descriptors": attempt(lambda: os.listdir(f"/proc/{server}/fd")),
    "write": attempt(lambda: write(folder / "planted")),
    "overwrite": attempt(lambda: write(folder / "secret")),
    "package": attempt(lambda: write(Path(json.__file__).parent / "planted.py")),
    "signal": attempt(lambda: os.kill(server, 0)),
    "trace": libc.ptrace(16, server, None, None),
    "waiter": attempt(lambda: os.kill(os.getppid(), 9) if os.getppid() > 1 else None),
    "sysctl": attempt(lambda: write("/proc/sys/kernel/hostname")),
    "link": attempt(lambda: os.link(folder / "secret", "stolen")),
})
"""


@pytest.mark.parametrize(
    "without", [(), _LANDLOCK, _NAMESPACES], ids=["all", "without-landlock", "without-namespaces"]
)
def test_nothing_outside_can_be_reached(
    server: Server, machine: ContainmentReport, without: tuple[Step, ...]
) -> None:
    """Secrets, other processes and the installation are out of reach behind either wall."""
    _need(machine, *({Step.FILE_VIEW, Step.LANDLOCK_FILES, Step.LANDLOCK_SCOPES} - set(without)))
    outcome = server.run(_TRIES, without=without)
    assert outcome.report.secrecy, outcome.report.secrecy_reason
    refused = {"PermissionError", "FileNotFoundError", "NotADirectoryError", "ProcessLookupError", "OSError"}
    tries = outcome.told[0]
    assert -1 == tries.pop("trace")
    tries.pop("waiter")
    assert {} == {name: answer for name, answer in tries.items() if answer not in refused}
    assert 0 == outcome.status
    assert "the seed" == (server.folder / "secret").read_text()
    assert not (server.folder / "planted").exists()


def test_without_walls_secrecy_is_not_claimed(server: Server) -> None:
    """A process that can read the secret says so."""
    report = server.run("", without=(*_NAMESPACES, *_LANDLOCK)).report
    assert not report.secrecy
    assert "secret can be opened" in report.secrecy_reason


def test_the_network_is_closed(server: Server, machine: ContainmentReport) -> None:
    """Neither TCP nor abstract sockets of the machine can be reached."""
    _need(machine, Step.NETWORK_NAMESPACE)
    outcome = server.run(
        """
        tcp = socket.socket()
        unix = socket.socket(socket.AF_UNIX)
        tell([attempt(lambda: tcp.connect(port)), attempt(lambda: unix.connect(name))])
        """,
        before="""
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()
        named = socket.socket(socket.AF_UNIX)
        name = "\\0kab-test-" + str(os.getpid())
        named.bind(name)
        named.listen()
        """,
    )
    assert {"None"}.isdisjoint(outcome.told[0])


def test_landlock_alone_closes_tcp_and_abstract_sockets(server: Server, machine: ContainmentReport) -> None:
    """Where namespaces are refused, Landlock keeps TCP and abstract sockets closed."""
    _need(machine, Step.LANDLOCK_TCP, Step.LANDLOCK_SCOPES)
    outcome = server.run(
        """
        tcp = socket.socket()
        unix = socket.socket(socket.AF_UNIX)
        tell([attempt(lambda: tcp.connect(port)), attempt(lambda: unix.connect(name))])
        """,
        before="""
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()
        named = socket.socket(socket.AF_UNIX)
        name = "\\0kab-test-" + str(os.getpid())
        named.bind(name)
        named.listen()
        """,
        without=_NAMESPACES,
    )
    assert ["PermissionError", "PermissionError"] == outcome.told[0]


def test_shared_memory_of_others_is_not_seen(server: Server, machine: ContainmentReport) -> None:
    """Named shared memory is the candidate's own."""
    _need(machine, Step.FILE_VIEW)
    outcome = server.run(
        """
        tell(os.listdir("/dev/shm"))
        with open("/dev/shm/mine", "w") as file:
            tell(file.write("x"))
        """,
        before="open('/dev/shm/kab-test-%d' % os.getpid(), 'w').close()",
        meanwhile="os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT); os.unlink('/dev/shm/kab-test-%d' % server)",
    )
    assert [[], 1] == outcome.told


def test_scratch_works_and_is_private(server: Server, machine: ContainmentReport) -> None:
    """The kernel file is there, files can be written, and nothing of it is seen outside."""
    _need(machine, Step.SCRATCH_LIMIT)
    outcome = server.run(
        """
        import tempfile
        sys.path.insert(0, os.getcwd())
        import kernel
        with tempfile.NamedTemporaryFile() as file:
            tell([kernel.answer, Path(file.name).parent == policy.scratch, "kernel.py" in os.listdir(".")])
        Path("left").write_text("behind")
        """
    )
    assert [[42, True, True]] == outcome.told
    assert ["kernel.py"] == [path.name for path in (server.folder / "scratch").iterdir()]


def test_scratch_without_a_private_copy_is_the_folder(server: Server) -> None:
    """A size of 0 writes to the folder itself."""
    outcome = server.run("Path('left').write_text('behind')", changes={"scratch_bytes": 0})
    assert 0 == outcome.status
    assert "behind" == (server.folder / "scratch" / "left").read_text()


def test_the_environment_is_an_allow_list(server: Server) -> None:
    """No variable of the user arrives, and folders for home and caches lie in scratch."""
    environment = server.run("tell(dict(os.environ))").told[0]
    assert "SECRET_KEY" not in environment
    scratch = str(server.folder / "scratch")
    for name in ("HOME", "TMPDIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"):
        assert environment[name].startswith(scratch)


def test_only_kept_descriptors_are_open(server: Server) -> None:
    """A descriptor of the server that is not named is closed; missing standard streams lead nowhere."""
    outcome = server.run(
        """
        kept = {2, alive_writer, answer_writer}
        tell([attempt(lambda: os.fstat(leak)), os.readlink("/proc/self/fd/1")])
        tell(sorted(set(map(int, os.listdir("/proc/self/fd"))) - kept))
        """,
        before="leak = os.open(folder / 'secret', os.O_RDONLY); os.dup2(leak, 700)",
    )
    assert ["OSError", "/dev/null"] == outcome.told[0]
    assert 700 not in outcome.told[1]
    assert 3 == len(outcome.told[1])  # 0, 1, and the listing itself


def test_privileges_are_gone_for_good(server: Server, machine: ContainmentReport) -> None:
    """No capability is left, mounting is refused and no further user namespace grants one."""
    _need(machine, Step.NO_NESTING)
    outcome = server.run(
        """
        lines = dict(line.split(":\\t") for line in Path("/proc/self/status").read_text().splitlines() if ":\\t" in line)
        tell([lines[name] for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs")])
        libc = ctypes.CDLL(None, use_errno=True)
        tell([libc.mount(b"none", b"/", None, 1 << 14, None), libc.unshare(0x10000000)])
        """
    )
    none = "0" * 16
    assert [[none, none, none, "1"], [-1, -1]] == outcome.told


def test_the_init_cannot_be_traced_or_killed(server: Server, machine: ContainmentReport) -> None:
    """The first process of the namespace withstands the candidate, even without Landlock."""
    _need(machine, Step.PID_NAMESPACE)
    outcome = server.run(
        """
        libc = ctypes.CDLL(None, use_errno=True)
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
            attempt(lambda: os.kill(1, number))
        tell([libc.ptrace(16, 1, None, None), attempt(lambda: os.readlink("/proc/1/fd/0"))])
        os._exit(5)
        """,
        without=_LANDLOCK,
    )
    assert [-1, "PermissionError"] == outcome.told[0]
    assert 5 == outcome.status


def test_files_are_limited_in_size(server: Server) -> None:
    """A file beyond the limit is an error, not a full disk."""
    outcome = server.run(
        "tell(attempt(lambda: Path('big').write_bytes(bytes(2 << 20))))", changes={"file_size_bytes": 1 << 20}
    )
    assert "OSError" == outcome.told[0]


def test_scratch_is_limited_in_size(server: Server, machine: ContainmentReport) -> None:
    """Many small files fill the scratch, not the disk."""
    _need(machine, Step.SCRATCH_LIMIT)
    outcome = server.run(
        """
        tell(attempt(lambda: [Path(f"file{number}").write_bytes(bytes(1 << 20)) for number in range(20)]))
        """,
        changes={"scratch_bytes": 8 << 20},
    )
    assert "OSError" == outcome.told[0]


@pytest.mark.parametrize("cuda", [False, True])
def test_memory_is_limited(server: Server, *, cuda: bool) -> None:
    """An allocation beyond the limit fails inside the candidate, one below it succeeds."""
    outcome = server.run(
        "tell([attempt(lambda: len(bytearray(size << 20))) for size in (32, 512)])",
        changes={"memory_bytes": 128 << 20, "cuda": cuda},
    )
    assert [str(32 << 20), "MemoryError"] == outcome.told[0]


def test_a_fork_bomb_is_bounded(server: Server, machine: ContainmentReport) -> None:
    """Processes run out inside, and all of them end with the candidate."""
    _need(machine, Step.PROCESS_LIMIT, Step.PID_NAMESPACE)
    outcome = server.run(
        """
        made = 0
        try:
            while made < 5000:
                if not os.fork():
                    time.sleep(60)
                    os._exit(0)
                made += 1
        except OSError as error:
            tell([made, error.errno])
        """,
        changes={"max_processes": 310},
    )
    made, _ = outcome.told[0]
    assert 250 < made <= 310
    assert outcome.all_died


def test_compilers_and_lazy_imports_work(server: Server) -> None:
    """Programs of the system can be run and modules imported late."""
    outcome = server.run(
        """
        import subprocess, sqlite3, numpy, zoneinfo
        shell = subprocess.run(["sh", "-c", "echo $((6 * 7)) > f; cat f"], capture_output=True, text=True)
        tell([shell.stdout, float(numpy.fft.fft(numpy.ones(4))[0].real), shell.stderr])
        """
    )
    assert [["42\n", 4.0, ""]] == outcome.told


_KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

def kernel(x):
    out = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""


@pytest.mark.parametrize("without", [(), _NAMESPACES], ids=["namespaces", "bare"])
def test_triton_interprets_a_kernel_inside(server: Server, without: tuple[Step, ...]) -> None:
    """The whole point: torch and Triton's interpreter work contained, forked from a preloaded server."""
    pytest.importorskip("triton")
    (server.folder / "scratch" / "kernel.py").write_text(_KERNEL)
    outcome = server.run(
        """
        sys.path.insert(0, os.getcwd())
        import kernel, torch
        x = torch.arange(100, dtype=torch.float32)
        tell(bool(torch.equal(kernel.kernel(x), x * 2)))
        """,
        before="""
        os.environ["TRITON_INTERPRET"] = "1"
        import torch, triton, triton.language
        """,
        without=without,
    )
    assert [True] == outcome.told
