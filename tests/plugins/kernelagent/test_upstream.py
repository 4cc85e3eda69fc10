"""The public KernelAgent is driven as it is: here by a stand-in with its interface, which the real one was tried with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kab_kernelagent import upstream
from kab_kernelagent.account import Account
from kab_kernelagent.options import AgentOptions
from kab_kernelagent.relay import Relay
from kab_kernelagent.store import RunStore
from kab_kernelagent.upstream import upstream_test
from kagent_bench.errors import UsageError
from tests.plugins.kernelagent.agents import RIGHT, Desk, request
from tests.plugins.kernelagent.scripts import RELU, in_turn
from tests.plugins.kernelagent.server import KEY, Status

if TYPE_CHECKING:
    from tests.plugins.kernelagent.conftest import Serve

AGENT = """
import json, os, pathlib, subprocess, time


class TritonKernelAgent:
    def __init__(self, num_workers=None, max_rounds=None, log_dir=None, model_name=None, target_platform=None,
                 test_timeout_s=30):
        self.folder, self.model, self.workers = pathlib.Path(log_dir), model_name, num_workers
        print("environment", dict(os.environ), flush=True)
        (self.folder / "asked.json").write_text(json.dumps([num_workers, max_rounds, model_name, target_platform]))

    def generate_kernel(self, problem_description, test_code=None, generate_default_test=True):
        assert not generate_default_test and "from kernel import kernel_function" in test_code
        if "hang" in problem_description:
            part = self.folder / "sleeper.part"
            part.write_text(str(subprocess.Popen(["sleep", "77"]).pid))
            part.replace(self.folder / "sleeper")
            time.sleep(77)
        import openai

        try:
            answer = self.call(problem_description, test_code)
        except openai.OpenAIError as error:
            print("made up a kernel of its own:", error)
            return {"success": False, "message": "Failed to generate working kernel"}
        if "hopeless" in problem_description:
            return {"success": False, "message": "Failed to generate working kernel"}
        if "broken" in problem_description:
            raise RuntimeError("no provider")
        code = answer.choices[-1].message.content.split("```python\\n")[1].split("```")[0]
        return {"success": True, "kernel_code": code}

    def call(self, problem_description, test_code):
        messages = [{"role": "user", "content": problem_description + test_code}]
        import openai

        client = openai.OpenAI(max_retries=0)
        return client.chat.completions.create(model=self.model, messages=messages, n=self.workers, max_tokens=1000)

    def cleanup(self):
        pass
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder that looks like a checkout of the public agent."""
    folder = tmp_path / "checkout"
    package, providers = folder / "triton_kernel_agent", folder / "utils" / "providers"
    package.mkdir(parents=True)
    providers.mkdir(parents=True)
    (package / "__init__.py").write_text(AGENT)
    (package / "platform_config.py").write_text("def get_platform(name):\n    return name\n")
    (folder / "utils" / "__init__.py").touch()
    (providers / "__init__.py").touch()
    (providers / "available_models.py").write_text("AVAILABLE_MODELS = []\n")
    (providers / "model_config.py").write_text("from types import SimpleNamespace as ModelConfig\n")
    (providers / "openai_provider.py").write_text("class OpenAIProvider:\n    pass\n")
    return folder


def test_its_kernel_is_ours_by_name(serve: Serve, tmp_path: Path, checkout: Path) -> None:
    """Workers, rounds and model are passed on, its files are kept, and its calls are in the ledger."""
    server, desk = serve(in_turn(RELU)), Desk(folder=tmp_path / "desk")

    result = desk.solve(
        agent="upstream", upstream_path=str(checkout), base_url=f"{server.url}/v1", agents=3, max_rounds=5
    )

    assert RIGHT == result.source
    kept = desk.runs[0] / "relu__default" / "upstream"
    assert [3, 5, "m", "cuda"] == json.loads((kept / "asked.json").read_text())
    assert desk.spent is not None
    assert (1, 100, 50, None) == (
        desk.spent.calls,
        desk.spent.tokens_in,
        desk.spent.tokens_out,
        desk.spent.cost_usd,
    )
    assert KEY == server.asked[0].headers["authorization"].removeprefix("Bearer ")


def test_it_never_has_the_key(
    serve: Serve, tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs kernels uncontained, so that a key in its environment would be theirs; nor is any on disk."""
    monkeypatch.setenv("HF_TOKEN", "planted-1234")
    desk = Desk(folder=tmp_path / "desk")

    desk.solve(agent="upstream", upstream_path=str(checkout), base_url=f"{serve(in_turn(RELU)).url}/v1")

    log = (desk.runs[0] / "relu__default" / "upstream" / "output.log").read_text()
    assert "'OPENAI_API_KEY': '[relay]'" in log
    assert "HF_TOKEN" not in log
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("word", "reason"), [("hopeless", "rounds"), ("broken", "upstream"), ("hang", "time_limit")]
)
def test_its_failures_have_their_own_names(
    serve: Serve, tmp_path: Path, checkout: Path, word: str, reason: str
) -> None:
    """What hangs is killed with all that it started; what breaks says its last words."""
    desk = Desk(folder=tmp_path / "desk")
    session = desk.session(
        agent="upstream", upstream_path=str(checkout), base_url=f"{serve(in_turn(RELU)).url}/v1"
    )
    asked = request(f"{word}.default", desk.judge, deadline_s=3.0 if word == "hang" else 60.0)

    result = session.generate(asked)
    session.close(interrupted=False)

    assert (None, reason) == (result.source, result.reason)


def test_stopping_the_run_ends_it_at_once(serve: Serve, tmp_path: Path, checkout: Path) -> None:
    """With all that it started, before the session is closed."""
    desk = Desk(folder=tmp_path / "desk")
    session = desk.session(
        agent="upstream", upstream_path=str(checkout), base_url=f"{serve(in_turn(RELU)).url}/v1"
    )
    thread = threading.Thread(
        target=session.generate, args=(request("hang.default", desk.judge),), daemon=True
    )
    thread.start()
    log = tmp_path / "desk" / "logs"
    until = time.monotonic() + 60
    while not list(log.rglob("sleeper")) and time.monotonic() < until:
        time.sleep(0.05)
    sleeper = int(next(log.rglob("sleeper")).read_text())

    session.close(interrupted=True)

    assert _gone(sleeper)
    thread.join(20)


def test_it_ends_with_the_program_that_started_it(tmp_path: Path, checkout: Path) -> None:
    """Also when that is killed, so that nobody is left to end it."""
    task = {
        "model": "m",
        "provider": "openai",
        "agents": 1,
        "max_rounds": 1,
        "problem": "hang",
        "platform": "cuda",
    }
    task |= {"test": "from kernel import kernel_function", "log_dir": str(tmp_path), "test_timeout_s": 9}
    (tmp_path / "task.json").write_text(json.dumps(task))
    environment = {
        "PYTHONPATH": str(checkout),
        "OPENAI_API_KEY": "x",
        "OPENAI_BASE_URL": "x",
        "PATH": os.environ["PATH"],
    }
    child = Path(upstream.__file__).with_name("upstream_child.py")
    with subprocess.Popen(
        [sys.executable, str(child), str(tmp_path / "task.json")],
        env=environment,
        stdin=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        until = time.monotonic() + 60
        while not (tmp_path / "sleeper").exists() and time.monotonic() < until:
            time.sleep(0.05)
        sleeper = int((tmp_path / "sleeper").read_text())
        assert process.stdin is not None
        process.stdin.close()

        assert -signal.SIGKILL == process.wait(20)
    assert _gone(sleeper)


def _gone(pid: int) -> bool:
    """Return whether a process has ended, or does soon."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_a_missing_agent_is_told(serve: Serve, tmp_path: Path) -> None:
    """Before any work, with what to do about it."""
    desk = Desk(folder=tmp_path / "desk")

    with pytest.raises(UsageError, match="No module named 'triton_kernel_agent'") as caught:
        desk.session(agent="upstream", base_url=f"{serve(in_turn(RELU)).url}/v1")

    assert "--upstream-path" in caught.value.hint


def test_the_providers_failure_is_no_kernels_fault(serve: Serve, tmp_path: Path, checkout: Path) -> None:
    """It goes on with a kernel that it makes up; what is reported is why the model did not answer."""
    desk = Desk(folder=tmp_path / "desk")
    server = serve(lambda _: Status(code=401))

    result = desk.solve(agent="upstream", upstream_path=str(checkout), base_url=f"{server.url}/v1")

    assert (None, "unauthorised") == (result.source, result.reason)


def test_the_limits_hold_for_it_too(serve: Serve, tmp_path: Path, checkout: Path) -> None:
    """A call that could pass them, with all the choices that it asks for, is not passed on."""
    desk = Desk(folder=tmp_path / "desk")
    server = serve(in_turn(RELU))

    result = desk.solve(
        agent="upstream", upstream_path=str(checkout), base_url=f"{server.url}/v1", agents=3, max_tokens=3000
    )

    assert (None, "budget") == (result.source, result.reason)
    assert [] == server.asked


def test_its_stored_replies_are_not_paid_for_again(serve: Serve, tmp_path: Path, checkout: Path) -> None:
    """A run that was killed after the reply came asks the relay again, which knows the answer."""
    server = serve(in_turn(RELU))
    options: dict[str, Any] = {
        "agent": "upstream",
        "upstream_path": str(checkout),
        "base_url": f"{server.url}/v1",
    }
    desk = Desk(folder=tmp_path / "desk")
    killed = desk.session(**options)
    killed.generate(request("relu.default", desk.judge))
    killed._store.close()
    (desk.runs[0] / "relu__default" / "outcome.json").unlink()

    result = desk.solve(**options)

    assert (RIGHT, 1) == (result.source, len(server.asked))
    assert 1 == len(desk.runs)
    killed.close(interrupted=True)


def test_only_the_public_agent_may_use_the_relay(serve: Serve, tmp_path: Path) -> None:
    """Another process of this machine has not its key, and after an operator's end nobody may."""
    server = serve(in_turn(RELU))
    options = AgentOptions.read({"model": "m", "base_url": f"{server.url}/v1"})
    store = RunStore.create(tmp_path, "m", {}, str)
    relay = Relay(options, store, Account.opened(options, store))
    address = relay.open("relu__default")

    def call(key: str) -> int:
        body = {"model": "m", "messages": [{"role": "user", "content": "# relu.default"}]}
        asked = urllib.request.Request(  # noqa: S310 - this machine's own
            f"{address}/chat/completions", json.dumps(body).encode(), {"authorization": f"Bearer {key}"}
        )
        try:
            with urllib.request.urlopen(asked, timeout=20) as answer:  # noqa: S310
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    assert [401, 401, 200] == [call(KEY), call(""), call(relay.key)]
    relay.shut("relu__default")
    assert 403 == call(relay.key)
    relay.close(1.0)
    store.close()
    assert 1 == len(server.asked)


@pytest.mark.parametrize(
    ("option", "words"), [("optimize", "--optimize cannot be kept"), ("replay", "word for word")]
)
def test_what_it_cannot_do_is_refused(
    serve: Serve, tmp_path: Path, checkout: Path, option: str, words: str
) -> None:
    """Before any work."""
    desk = Desk(folder=tmp_path / "desk")
    options: dict[str, Any] = {
        "agent": "upstream",
        "upstream_path": str(checkout),
        "base_url": f"{serve(in_turn(RELU)).url}/v1",
    }
    desk.solve(**options)

    with pytest.raises(UsageError, match=words):
        desk.session(**options | {option: str(desk.runs[0]) if option == "replay" else True})


def test_our_test_runs_as_its_test(tmp_path: Path) -> None:
    """In its way: kernel and test side by side, the exit code decides."""
    test = '"""Doc."""\nfrom __future__ import annotations\nimport sys\n\n\ndef load_kernel(path):\n    raise OSError\n\n\n'
    test += "def main(arguments=None):\n    return load_kernel(None)(7)\n\n\n"
    test += 'if __name__ == "__main__":\n    sys.exit(main())\n'
    (tmp_path / "test_kernel.py").write_text(upstream_test(test))
    (tmp_path / "kernel.py").write_text("def kernel_function(x):\n    return x - 7\n")

    good = subprocess.run([sys.executable, "test_kernel.py"], cwd=tmp_path, check=False)
    (tmp_path / "kernel.py").write_text("def kernel_function(x):\n    return x\n")
    bad = subprocess.run([sys.executable, "test_kernel.py"], cwd=tmp_path, check=False)

    assert (0, 7) == (good.returncode, bad.returncode)
