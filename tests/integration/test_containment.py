"""What contained code can and cannot reach, tried by code that runs contained."""

from __future__ import annotations

import pytest

from kagent_bench.evaluate.containment import ContainmentReport, Step
from tests.integration.contained import LANDLOCK, NAMESPACES, Server, need


def test_secrecy_holds_if_either_wall_stands(machine: ContainmentReport) -> None:
    """The probe claims secrecy on a machine that has a file view or Landlock."""
    walls = machine.applied(Step.FILE_VIEW) or machine.applied(Step.LANDLOCK_FILES)
    assert walls == machine.secrecy, machine.secrecy_reason


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
    "without", [(), LANDLOCK, NAMESPACES], ids=["all", "without-landlock", "without-namespaces"]
)
def test_nothing_outside_can_be_reached(
    server: Server, machine: ContainmentReport, without: tuple[Step, ...]
) -> None:
    """Secrets, other processes and the installation are out of reach behind either wall."""
    need(machine, *({Step.FILE_VIEW, Step.LANDLOCK_FILES, Step.LANDLOCK_SCOPES} - set(without)))
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
    report = server.run("", without=(*NAMESPACES, *LANDLOCK)).report
    assert not report.secrecy
    assert "secret can be opened" in report.secrecy_reason


def test_the_network_is_closed(server: Server, machine: ContainmentReport) -> None:
    """Neither TCP nor abstract sockets of the machine can be reached."""
    need(machine, Step.NETWORK_NAMESPACE)
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
    need(machine, Step.LANDLOCK_TCP, Step.LANDLOCK_SCOPES)
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
        without=NAMESPACES,
    )
    assert ["PermissionError", "PermissionError"] == outcome.told[0]


def test_shared_memory_of_others_is_not_seen(server: Server, machine: ContainmentReport) -> None:
    """Named shared memory is the candidate's own."""
    need(machine, Step.FILE_VIEW)
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
    need(machine, Step.SCRATCH_LIMIT)
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
    need(machine, Step.NO_NESTING)
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
    need(machine, Step.PID_NAMESPACE)
    outcome = server.run(
        """
        libc = ctypes.CDLL(None, use_errno=True)
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
            attempt(lambda: os.kill(1, number))
        tell([libc.ptrace(16, 1, None, None), attempt(lambda: os.readlink("/proc/1/fd/0"))])
        os._exit(5)
        """,
        without=LANDLOCK,
    )
    assert [-1, "PermissionError"] == outcome.told[0]
    assert 5 == outcome.status
