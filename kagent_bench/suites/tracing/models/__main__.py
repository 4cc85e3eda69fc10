"""Records the shipped trace: ``python -m kagent_bench.suites.tracing.models FILE [MODEL ...]``.

Each model, phase and dtype is recorded on tensors without memory; nothing is downloaded. What a model makes of
values, such as the experts that a token goes to, is asked for in a form that does not depend on them.
"""

from __future__ import annotations

import importlib.metadata
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from kagent_bench.suites.trace.call import Trace, TracedCall
from kagent_bench.suites.trace.export import write_trace
from kagent_bench.suites.trace.load import merge
from kagent_bench.suites.tracing.models import generation, language, others, vision
from kagent_bench.suites.tracing.models.recipe import TRAINING, Recipe
from kagent_bench.suites.tracing.record import record_workload

if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARIES = ("kagent-bench", "torch", "transformers", "timm", "diffusers", "torchvision")
RECIPES = (*language.RECIPES, *vision.RECIPES, *generation.RECIPES, *others.RECIPES)


def main(arguments: list[str]) -> int:
    """Record all models, or those that are named, into one new trace; return 1 if any could not be."""
    path, *names = arguments
    calls: list[TracedCall] = []
    failed = 0
    for recipe in RECIPES:
        if names and recipe.name not in names:
            continue
        for name, phase, dtype in _variants(recipe):
            start = time.monotonic()
            try:
                found = _record(recipe, name, phase, dtype)
            except Exception:  # noqa: BLE001 - whatever a library raises: the other models are recorded
                traceback.print_exc()
                failed += 1
                continue
            calls += found
            sys.stderr.write(f"{name}: {len(found)} different calls, {time.monotonic() - start:.0f} s\n")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    write_trace(Trace(calls=merge(calls), header=(("recorder", versions),)), Path(path))
    return 1 if failed else 0


def _variants(recipe: Recipe) -> Iterator[tuple[str, str, str]]:
    for dtype in recipe.dtypes:
        for phase in recipe.phases:
            yield f"{recipe.name}/{phase}/{dtype}", phase, dtype


def _record(recipe: Recipe, name: str, phase: str, dtype: str) -> tuple[TracedCall, ...]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            workload = recipe.make(phase)
            return record_workload(workload, name, training=phase == TRAINING).calls()
    finally:
        torch.set_default_dtype(before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
