"""Tries cases in eager PyTorch: a process that says that it is ready, then answers one request a line.

Run as ``python -m kagent_bench.evaluate.case_check.attempt``; it is killed when it is no longer needed.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.case_check.reasons import explain, lacks_a_kernel
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

LIMIT_S = 10.0
"""Seconds of the processor for one attempt."""
LIMIT_BYTES = 6 << 30
"""Memory of this process where all of it is the CPU's: a call with small arguments may have large results."""
COMPARED_ELEMENTS = 1 << 16
"""Elements of a result that are compared with trivial ones; of a larger one as many, anywhere."""
SEED = b"kab list --check"


class _TooLong(BaseException):
    """An attempt took longer than allowed; no error, so that nobody takes it for one of torch's."""


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Try the attempts of a request until one runs; tell which did and the marks of its results, or why none did."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    original = decode_case(request["case"])
    cases = [decode_case(attempt["case"]) for attempt in request["attempts"]]
    misfit = "" if cases[0].id == original.id else _misfit(original)
    failed = {"detail": misfit, "why": "refused"}
    for index, (case, attempt) in enumerate(zip(cases, request["attempts"], strict=True)):
        if misfit and case.id != original.id and not _misfit(case):
            continue  # a smaller call whose shapes go together where those of the case do not is no call of its sort
        relative = request["relative"] if attempt["alike"] else None
        found = _attempt(case, request["kind"], relative, device)
        if "marks" in found:
            return {"tried": index, **found}
        failed = found
        if failed["why"] == "no_kernel":
            break  # of no size either
    if misfit and failed["why"] == "refused":
        return {"tried": -1, "detail": explain(misfit), "why": "misfit"}
    if failed["why"] == "refused" and _misfit(original):
        return {"tried": -1, "detail": failed["detail"], "why": "misfit"}
    return {"tried": -1, **failed}


def _attempt(case: Case, kind: str, relative: dict[str, float] | None, device: str) -> dict[str, Any]:
    """Run a case within the limits; return the marks of its results, or why it did not run."""
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        marks, said = _try(case, kind, relative, device)
    except _TooLong:
        return {"detail": "takes too long here", "why": "too_large"}
    except MemoryError:
        return {"detail": "takes too much memory here", "why": "too_large"}
    except Exception as error:  # noqa: BLE001 - whatever eager PyTorch raises is what is told
        text = str(error)
        if "can't allocate memory" in text:
            return {"detail": "takes too much memory here", "why": "too_large"}
        return {"detail": explain(text), "why": "no_kernel" if lacks_a_kernel(text) else "refused"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {"detail": said, "marks": marks}


def _misfit(case: Case) -> str:
    """Return what torch's rules of shapes, which need no memory, say against a call; empty if nothing."""
    assert isinstance(case.operator, OperatorName)
    try:
        storages = tuple(
            torch.empty(storage.numel, dtype=getattr(torch, storage.dtype), device="meta")
            for storage in case.storages
        )
        reference.run(overload(case.operator), case, storages)
    except Exception as error:  # noqa: BLE001 - whatever it raises is what is told
        return str(error)
    return ""


def _try(case: Case, kind: str, relative: dict[str, float] | None, device: str) -> tuple[list[str], str]:
    """Run a case; look at its results unless there is no table of ``relative`` factors to look at them with."""
    assert isinstance(case.operator, OperatorName)
    semantics = semantics_of(case.operator)
    storages = inputs.draw(case, semantics, inputs.ROUNDS[0], inputs.generator(SEED, case.id, 0))
    moved = tuple(storage.to(device) for storage in storages)
    outcome = reference.run(overload(case.operator), case, moved)
    if kind in VALUE_FREE_KINDS or relative is None:
        return [], ""
    leaves = [leaf.cpu() for leaf in outcome.leaves]
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
        expected.append(Expected(_some(leaf), None, limits=limits))
    passing = []
    for name, control in controls_for(semantics, given).items():
        outputs = [control(leaf) for leaf in leaves]
        if all(
            output is not None and item.accepts(_some(output))
            for output, item in zip(outputs, expected, strict=True)
        ):
            passing.append(name)
    return passing


def _some(values: torch.Tensor) -> torch.Tensor:
    """Return the elements that are compared, the same places for every tensor of a size."""
    if values.numel() <= COMPARED_ELEMENTS:
        return values
    source = inputs.generator(SEED, str(values.numel()), 0)
    return values.flatten()[torch.randint(0, values.numel(), (COMPARED_ELEMENTS,), generator=source)]


def _too_long(*_: object) -> None:
    raise _TooLong


def main(_: list[str]) -> None:
    """Answer until the input ends."""
    torch.set_num_threads(1)
    signal.signal(signal.SIGPROF, _too_long)
    if not torch.cuda.is_available():
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES))
    torch.empty(1, device="meta").add(1)  # imports what rules of shapes need, which takes seconds
    _say("ready")
    for line in sys.stdin:
        _say(json.dumps(answer(json.loads(line))))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
