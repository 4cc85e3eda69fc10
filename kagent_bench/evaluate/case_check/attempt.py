"""Tries cases in eager PyTorch: a process that reads one request a line and writes one answer a line.

Run as ``python -m kagent_bench.evaluate.case_check.attempt``; it is killed when it is no longer needed.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.case_check.reasons import explain
from kagent_bench.evaluate.oracle import inputs, reference
from kagent_bench.evaluate.oracle.compare import Expected
from kagent_bench.evaluate.oracle.controls import controls_for
from kagent_bench.evaluate.oracle.rounds import VALUE_FREE_KINDS
from kagent_bench.evaluate.oracle.semantics import overload, semantics_of
from kagent_bench.evaluate.tolerance import Limits
from kagent_bench.model.case import TensorSpec
from kagent_bench.model.identity import decode_case
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.evaluate.oracle.semantics import Semantics
    from kagent_bench.model.case import Case

LIMIT_S = 30
"""Seconds for one attempt."""
SEED = b"kab list --check"


class _TooLong(Exception):
    """An attempt took longer than allowed."""


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Try the attempts of a request until one runs; tell which did, and the marks of its results."""
    detail, too_large = "", False
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for index, data in enumerate(request["attempts"]):
        case = decode_case(data)
        signal.alarm(LIMIT_S)
        try:
            marks, said = _try(case, request["kind"], request["relative"], device)
        except (reference.ReferenceFailed, AttributeError, RuntimeError, TypeError) as error:
            detail, too_large = explain(str(error)), False
        except (_TooLong, MemoryError) as error:
            detail, too_large = f"took too {'long' if isinstance(error, _TooLong) else 'much memory'}", True
        else:
            return {"tried": index, "marks": marks, "detail": said}
        finally:
            signal.alarm(0)
    return {"tried": -1, "detail": detail, "too_large": too_large}


def _try(case: Case, kind: str, relative: dict[str, float], device: str) -> tuple[list[str], str]:
    assert isinstance(case.operator, OperatorName)
    semantics = semantics_of(case.operator)
    storages = inputs.draw(case, semantics, inputs.ROUNDS[0], inputs.generator(SEED, case.id, 0))
    moved = tuple(storage.to(device) for storage in storages)
    outcome = reference.run(overload(case.operator), case, moved)
    leaves = [leaf.cpu() for leaf in outcome.leaves]
    if kind in VALUE_FREE_KINDS:
        return [], ""
    if not any(leaf.numel() for leaf in leaves):
        return ["degenerate"], "no elements in any result"
    if not semantics.constant_output and all(_is_constant(leaf) for leaf in leaves):
        return ["degenerate"], "every result is one number over and over"
    weak = _passing_controls(case, semantics, storages, leaves, relative)
    return (["weak"], f"passed by {', '.join(weak)}") if weak else ([], "")


def _is_constant(leaf: torch.Tensor) -> bool:
    return leaf.numel() > 1 and bool((leaf == leaf.flatten()[0]).all())


def _passing_controls(
    case: Case,
    semantics: Semantics,
    storages: Sequence[torch.Tensor],
    leaves: Sequence[torch.Tensor],
    relative: dict[str, float],
) -> list[str]:
    """Return the trivial outputs that would be taken for all of the results."""
    cpu = torch.device("cpu")
    values = [*case.args, *(value for _, value in case.kwargs)]
    given = [
        reference.build(value, storages, cpu, wide=False) for value in values if isinstance(value, TensorSpec)
    ]
    expected = []
    for leaf in leaves:
        factor = relative.get(str(leaf.dtype).removeprefix("torch."))
        limits = None if factor is None else Limits(relative=factor, accumulated=factor)
        expected.append(Expected(leaf, None, limits=limits))
    passing = []
    for name, control in controls_for(semantics, given).items():
        outputs = [control(leaf) for leaf in leaves]
        if all(
            output is not None and item.accepts(output)
            for output, item in zip(outputs, expected, strict=True)
        ):
            passing.append(name)
    return passing


def _too_long(*_: object) -> None:
    raise _TooLong


def main() -> None:
    """Answer until the input ends."""
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _too_long)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
