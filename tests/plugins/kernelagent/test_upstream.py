"""The public KernelAgent is driven as it is: here by a stand-in with its interface, which the real one was tried with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kab_kernelagent.upstream import upstream_test
from kagent_bench.errors import UsageError
from tests.plugins.kernelagent.agents import RIGHT, Desk, request
from tests.plugins.kernelagent.scripts import RELU, in_turn
from tests.plugins.kernelagent.server import KEY

if TYPE_CHECKING:
    from tests.plugins.kernelagent.conftest import Serve

AGENT = """
import json, os, pathlib, subprocess, time


class TritonKernelAgent:
    def __init__(self, num_workers=None, max_rounds=None, log_dir=None, model_name=None, target_platform=None,
                 test_timeout_s=30):
        self.folder = pathlib.Path(log_dir)
        print("key", os.environ["OPENAI_API_KEY"], "at", os.environ["OPENAI_BASE_URL"], flush=True)
        (self.folder / "asked.json").write_text(json.dumps([num_workers, max_rounds, model_name, target_platform]))

    def generate_kernel(self, problem_description, test_code=None, generate_default_test=True):
        assert not generate_default_test and "from kernel import kernel_function" in test_code
        if "hang" in problem_description:
            subprocess.Popen(["sleep", "77"])
            time.sleep(77)
        if "hopeless" in problem_description:
            return {"success": False, "message": "Failed to generate working kernel"}
        if "broken" in problem_description:
            raise RuntimeError("no provider")
        return {"success": True, "kernel_code": KERNEL}

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
    (package / "__init__.py").write_text(f"{AGENT}\n\nKERNEL = {RELU!r}\n")
    (package / "platform_config.py").write_text("def get_platform(name):\n    return name\n")
    (folder / "utils" / "__init__.py").touch()
    (providers / "__init__.py").touch()
    (providers / "available_models.py").write_text("AVAILABLE_MODELS = []\n")
    (providers / "model_config.py").write_text("from types import SimpleNamespace as ModelConfig\n")
    (providers / "openai_provider.py").write_text("class OpenAIProvider:\n    pass\n")
    return folder


def test_its_kernel_is_ours_by_name(serve: Serve, tmp_path: Path, checkout: Path) -> None:
    """Workers, rounds and model are passed on, its files are kept, and the key is taken out of them."""
    desk = Desk(folder=tmp_path / "desk")
    url = f"{serve(in_turn(RELU)).url}/v1"

    result = desk.solve(agent="upstream", upstream_path=str(checkout), base_url=url, agents=3, max_rounds=5)

    assert RIGHT == result.source
    kept = desk.runs[0] / "relu__default" / "upstream"
    assert [3, 5, "m", "cuda"] == json.loads((kept / "asked.json").read_text())
    assert f"key [secret] at {url}" == (kept / "output.log").read_text().strip()
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


def test_a_missing_agent_is_told(serve: Serve, tmp_path: Path) -> None:
    """Before any work, with what to do about it."""
    desk = Desk(folder=tmp_path / "desk")

    with pytest.raises(UsageError, match="No module named 'triton_kernel_agent'") as caught:
        desk.session(agent="upstream", base_url=f"{serve(in_turn(RELU)).url}/v1")

    assert "--upstream-path" in caught.value.hint


def test_limits_that_nobody_could_keep_are_refused(serve: Serve, tmp_path: Path, checkout: Path) -> None:
    """It makes its calls itself."""
    desk = Desk(folder=tmp_path / "desk")

    with pytest.raises(UsageError, match="--max-tokens cannot be kept"):
        desk.session(
            agent="upstream",
            upstream_path=str(checkout),
            base_url=f"{serve(in_turn(RELU)).url}/v1",
            max_tokens=5,
        )


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
