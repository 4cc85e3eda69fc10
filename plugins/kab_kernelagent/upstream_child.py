"""Runs in a process of its own: the public KernelAgent on one problem, told and answering through files."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any


def main(task_file: str) -> None:
    """Have the agent solve the problem of a task file, and write what it returns."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    task: dict[str, Any] = json.loads(Path(task_file).read_text())
    from triton_kernel_agent import TritonKernelAgent
    from triton_kernel_agent.platform_config import get_platform

    _know_model(task["model"], task["provider"])
    agent = TritonKernelAgent(
        num_workers=task["agents"],
        max_rounds=task["max_rounds"],
        log_dir=task["log_dir"],
        model_name=task["model"],
        target_platform=get_platform(task["platform"]),
        test_timeout_s=task["test_timeout_s"],
    )
    try:
        result = agent.generate_kernel(task["problem"], task["test"], generate_default_test=False)
    finally:
        agent.cleanup()
    temporary = Path(task["result"]).with_suffix(".part")
    temporary.write_text(json.dumps(result))
    temporary.replace(task["result"])


def _end_with_parent() -> None:
    """Wait for the end of the program that started this one, which nothing else tells, and end all of its group."""
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def _know_model(name: str, provider: str) -> None:
    """Have the agent's table say that a model is called by this provider's protocol: it knows few models by itself."""
    from utils.providers.available_models import AVAILABLE_MODELS
    from utils.providers.model_config import ModelConfig

    if provider == "anthropic":
        from utils.providers.anthropic_provider import AnthropicProvider as Provider
    else:
        from utils.providers.openai_provider import OpenAIProvider as Provider
    AVAILABLE_MODELS[:] = [
        *(item for item in AVAILABLE_MODELS if item.name != name),
        ModelConfig(name=name, provider_classes=[Provider], description="chosen by --model"),
    ]


if __name__ == "__main__":
    # The folder of this file holds modules of ours that must not stand for the agent's.
    sys.path.pop(0)
    main(sys.argv[1])
