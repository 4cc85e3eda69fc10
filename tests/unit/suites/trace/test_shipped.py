"""The trace that comes with the package, and the public one that does not."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from kagent_bench.errors import InputError, UsageError
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.model.case import Case, TensorSpec
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.trace import open as opening

if TYPE_CHECKING:
    from kagent_bench.suites.trace.suite import TraceSuite


@pytest.fixture(scope="module")
def shipped() -> TraceSuite:
    """Return the suite; it needs no network."""
    return opening.shipped_suite()


def test_models_phases_and_dtypes(shipped: TraceSuite) -> None:
    """Sixteen models and more, language models in all phases, in both half precisions."""
    sources = {
        source.model
        for item in shipped.operators(SuiteRequest())
        for case in item.cases
        for source in case.sources
    }
    models = {name.split("/")[0] for name in sources}

    assert 16 <= len(models)
    assert {
        "llama-3-8b",
        "qwen3-30b-a3b",
        "vit-base",
        "convnext-base",
        "sdxl-unet",
        "whisper-large-v3",
        "dlrm",
    } <= models
    for name in ("llama-3-8b", "qwen3-30b-a3b", "mixtral-8x7b", "mamba2-2.7b"):
        assert {"prefill", "decode", "training"} == {
            source.split("/")[1] for source in sources if source.split("/")[0] == name
        }
    assert {"prefill", "decode", "training", "inference"} == {name.split("/")[1] for name in sources}
    assert {"bfloat16", "float16"} == {name.split("/")[2] for name in sources}


def test_every_call_is_told_of(shipped: TraceSuite) -> None:
    """The data is named with its revision and its recorder, each line is read, and each call makes a case."""
    about, recorded, *others = shipped.data_notes()

    assert about.startswith("data: the models recorded with kab ")
    assert ", sha256 " in about
    assert "transformers " in recorded
    assert [] == others


def _heads(case: Case, argument: int) -> int:
    tensor = case.args[argument]
    assert isinstance(tensor, TensorSpec)
    return tensor.shape[1]


def test_fewer_heads_of_keys_are_asked_for(shipped: TraceSuite) -> None:
    """A model of today has groups of heads, which attention takes only where it is told."""
    attention = OperatorName.parse("scaled_dot_product_attention.default")
    (item,) = shipped.operators(SuiteRequest(operators=frozenset({attention})))
    grouped = [case for case in item.cases if _heads(case, 0) != _heads(case, 1)]

    assert 2 <= len(grouped)
    assert all(dict(case.kwargs)["enable_gqa"] is True for case in grouped)


def test_the_file_is_small() -> None:
    """Compressed, under two megabytes."""
    path = opening.shipped_file()

    assert 2_000_000 > path.stat().st_size


def test_the_public_data_needs_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot be fetched the error says so, and what to do; the revision is pinned."""
    asked: dict[str, str] = {}

    def fetch(repository: str, name: str, **kwargs: str) -> str:
        asked.update(kwargs, repository=repository, name=name)
        raise ConnectionError("no route to the host")

    hub = ModuleType("huggingface_hub")
    hub.hf_hub_download = fetch  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)

    with pytest.raises(InputError, match="cannot be fetched: no route to the host") as caught:
        opening.public_suite()
    assert "--suite torchbench" in caught.value.hint
    assert ("GPUMODE/backendbench_tests", "dataset") == (asked["repository"], asked["repo_type"])
    assert 40 == len(asked["revision"])


def test_the_public_data_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is named with the way to install it."""
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    with pytest.raises(UsageError, match="huggingface_hub, which is not installed"):
        opening.public_suite()
