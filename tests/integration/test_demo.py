"""`make demo` stays what the README promises: enough operators, of the right dtypes, all written by `baseline`."""

from __future__ import annotations

from kab_baseline.registry import supported
from kagent_bench.config.files import configs_dir
from kagent_bench.config.resolve import resolve
from kagent_bench.model.names import OperatorName

MIN_OPERATORS = 40


def test_the_demo_is_the_main_job() -> None:
    """At least forty operators of PyTorch's samples in fp32 and fp16, every one known to the generator."""
    settings = resolve(config=configs_dir() / "demo.toml", environ={}).settings
    operators = {OperatorName.parse(name) for name in settings.selection.ops}

    assert ("opinfo", ("fp32", "fp16")) == (settings.selection.suite, settings.selection.dtype)
    assert len(operators) >= MIN_OPERATORS
    assert len(settings.selection.ops) == len(operators)
    assert operators <= set(supported())
    assert "baseline" == settings.generate.workflow
