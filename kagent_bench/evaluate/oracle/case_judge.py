"""Judging one case: fresh inputs for each round, the references for them, and the checks of what came back."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate import arena as arena_module
from kagent_bench.evaluate.modules.interpret import ProgramRun
from kagent_bench.evaluate.oracle import contract, inputs, reference, returned
from kagent_bench.evaluate.oracle.case_work import CaseWork
from kagent_bench.evaluate.oracle.compare import backendbench_agrees
from kagent_bench.evaluate.oracle.controls import controls_for
from kagent_bench.evaluate.oracle.finding import Finding
from kagent_bench.evaluate.oracle.rounds import (
    REPEAT,
    VALUE_FREE_KINDS,
    OracleSettings,
    Round,
    RoundMaker,
    bits,
)
from kagent_bench.evaluate.oracle.tally import Tally
from kagent_bench.evaluate.oracle.targets import Targets
from kagent_bench.evaluate.oracle.ties import select_the_same
from kagent_bench.model.verdict import CaseStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kagent_bench.evaluate.oracle.compare import Comparison
    from kagent_bench.evaluate.oracle.semantics import Semantics
    from kagent_bench.evaluate.oracle.targets import Target
    from kagent_bench.model.case import Case, TensorSpec


class CaseJudge:
    """The state of one case while its rounds run. Not shared between threads."""

    def __init__(
        self,
        case: Case,
        kind: str,
        operator: Callable[..., Any],
        semantics: Semantics,
        settings: OracleSettings,
        declared: frozenset[str] = frozenset(),
    ) -> None:
        """Take a case and how to judge it.

        Args:
            case: the case.
            kind: of its operator, see ``model.selection``.
            operator: the callable: a ``torch.ops.aten`` overload, or a module's program.
            semantics: its class.
            settings: the run's settings.
            declared: nodes or operators of a module that the kernel declares to leave to the library.
        """
        self._case = case
        self._kind = kind
        self._operator = operator
        self._semantics = semantics
        self._settings = settings
        self._targets = Targets(case, operator, semantics, settings)
        self._maker = RoundMaker(case, kind, operator, semantics, settings)
        self._argument_names = contract.argument_names(operator)
        self._names = contract.storage_names(case, self._argument_names)
        self._writable = contract.written_storages(case, semantics, self._argument_names)
        self._undeclared: frozenset[int] = frozenset()
        self._pending: list[str] = []
        self._round: Round | None = None
        self._before = bytearray()
        self._first_values: list[torch.Tensor] | None = None
        self.tally = Tally()
        self.work = CaseWork(case, kind, semantics, settings, declared, self.tally)
        self.layout: arena_module.Layout | None = None

    # --- preparing --------------------------------------------------------------------------------------------

    def open(self) -> Finding | None:
        """Draw the first round; return why the case ends here, or None when it can be run."""
        needed = self._case.input_bytes
        if needed > self._settings.memory_bytes:
            detail = f"needs {needed} bytes of inputs, {self._settings.memory_bytes} can be used"
            return Finding(status=CaseStatus.SKIPPED, reason="too_large", detail=detail)
        if (endless := self._endless(sum(item.numel for item in self._case.storages), "inputs")) is not None:
            return endless
        names = self._maker.names()
        self._pending = [*names[1:], REPEAT]
        try:
            self._round = self._maker.make(names[0])
            if isinstance(self._operator, ProgramRun):
                self.work.look_at(self._operator, self._round.on_device)
            self._note_undeclared_writes(self._round)
            if not self._maker.stable(self._round):
                detail = "eager PyTorch gives different results for the same inputs"
                return Finding(status=CaseStatus.NOT_JUDGED, reason="unstable_reference", detail=detail)
        except reference.ReferenceFailed as error:
            return Finding(status=CaseStatus.NOT_JUDGED, reason="reference_raises", detail=str(error))
        except (MemoryError, RuntimeError) as error:
            if not reference.out_of_memory(error):
                raise
            return Finding(status=CaseStatus.SKIPPED, reason="too_large", detail=str(error).splitlines()[0])
        output_bytes = sum(leaf.numel() * leaf.element_size() for leaf in self._round.eager.leaves)
        self.layout = arena_module.plan([storage.n_bytes for storage in self._case.storages], output_bytes)
        return self._endless(sum(leaf.numel() for leaf in self._round.eager.leaves), "outputs")

    def _endless(self, n_elements: int, of: str) -> Finding | None:
        """Skip what Triton's interpreter would take minutes for; its shape is never changed instead."""
        limit = self._settings.interpreter_elements
        if not self._settings.interpreter or not limit or n_elements <= limit:
            return None
        detail = (
            f"{n_elements} elements of {of}; the interpreter is tried up to {limit} (--interpreter-elements)"
        )
        return Finding(status=CaseStatus.SKIPPED, reason="too_large", detail=detail)

    def fill(self, arena: arena_module.Arena) -> None:
        """Write the round's inputs, and fresh random bytes around them, into the arena."""
        assert self.layout is not None
        assert self._round is not None
        secret = hmac.new(
            self._settings.seed, f"guard:{self._case.id}:{self._round.name}".encode(), hashlib.sha256
        )
        regions = self.layout.regions
        gaps = self.layout.input_bytes - sum(region.n_bytes for region in regions)
        noise = hashlib.shake_256(secret.digest()).digest(gaps)
        # The same memory for every round: untouched pages take far longer than the copy.
        before = self._before or bytearray(self.layout.input_bytes)
        position, used = 0, 0
        for region, storage in zip(regions, self._round.on_device, strict=True):
            end = used + region.offset - position
            before[position : region.offset] = noise[used:end]
            position, used = region.offset + region.n_bytes, end
            if region.n_bytes:
                place = torch.frombuffer(
                    before, dtype=torch.uint8, offset=region.offset, count=region.n_bytes
                )
                place.copy_(bits(storage))
        before[position:] = noise[used:]
        self._before = before
        arena.memory[: self.layout.input_bytes] = before

    # --- judging ----------------------------------------------------------------------------------------------

    def judge(self, reply: dict[str, Any], arena: arena_module.Arena) -> Finding | None:
        """Check what the candidate says it returned; None if this round is right.

        Args:
            reply: the candidate's description of its outputs, untrusted.
            arena: the memory that it worked on.
        """
        assert self.layout is not None
        assert self._round is not None
        with memoryview(arena.memory)[: self.layout.input_bytes] as shared:
            after = self._before if self._before == shared else bytes(shared)
        self.tally.rounds += 1
        self.work.note(reply)
        finding = contract.check_guards(
            self._before, after, self.layout, self._names
        ) or contract.check_unchanged(self._before, after, self.layout, self._names, self._writable)
        if finding is None and reply.get("overrun") is True:
            detail = "bytes after memory that the kernel allocated were overwritten"
            finding = Finding(status=CaseStatus.FAILED, reason="out_of_bounds_write", detail=detail)
        if finding is not None:
            return self._in_round(finding)
        try:
            finding = self._check_outputs(reply, arena, after)
        except returned.Unreadable as error:
            detail = f"the process described its outputs inconsistently ({error})"
            finding = Finding(status=CaseStatus.FAILED, reason="unreadable_output", detail=detail)
        if finding is None:
            finding = self.work.check(reply, self._round.eager.leaves, self._given())
        return None if finding is None else self._in_round(finding)

    def advance(self) -> bool:
        """Prepare the next round that the operator itself can do; return False when there is none."""
        while self._pending:
            name = self._pending.pop(0)
            try:
                candidate = self._maker.make(name)
            except (reference.ReferenceFailed, MemoryError):
                self.tally.dropped.append(name)
                continue
            if name not in {inputs.ROUNDS[0], REPEAT} and _only_nan(candidate.eager.leaves):
                self.tally.dropped.append(name)
                continue
            if self._output_bytes(candidate) > self._output_bytes_planned():
                self.tally.dropped.append(name)
                continue
            self._round = candidate
            return True
        return False

    def conclude(self) -> Finding | None:
        """Return why a case that passed every round is not a proof, or None."""
        if self._kind in VALUE_FREE_KINDS:
            detail = f"operators of kind '{self._kind}' have no values to compare; metadata is right"
            return Finding(status=CaseStatus.NOT_JUDGED, reason=VALUE_FREE_KINDS[self._kind], detail=detail)
        assert self._round is not None
        if all(leaf.numel() == 0 for leaf in self._round.eager.leaves) and not self._writable_elements():
            detail = "every output is empty; metadata is right"
            return Finding(status=CaseStatus.NOT_JUDGED, reason="vacuous", detail=detail)
        if self.work.is_missing():
            detail = "every output is an argument as it was, or a fill; nothing was to compute"
            return Finding(status=CaseStatus.NOT_JUDGED, reason="vacuous", detail=detail)
        return None

    # --- the checks of one round ------------------------------------------------------------------------------

    def _check_outputs(
        self, reply: dict[str, Any], arena: arena_module.Arena, after: bytes | bytearray
    ) -> Finding | None:
        assert self.layout is not None
        assert self._round is not None
        eager = self._round.eager
        tree = reply.get("value")
        finding = contract.check_structure(returned.structure(tree), contract.structure_of(eager.value))
        if finding is not None:
            return finding
        leaves = reply.get("leaves")
        if not isinstance(leaves, list):
            raise returned.Unreadable("leaves")
        described = [returned.read_leaf(item, self.layout) for item in leaves]
        if len(described) != len(eager.leaves):
            raise returned.Unreadable("leaves")
        device = torch.device(self._settings.device)
        names = [_output_name(index, len(described)) for index in range(len(described))]
        for name, leaf, expected in zip(names, described, eager.leaves, strict=True):
            region = contract.expected_region(eager, expected)
            finding = contract.check_metadata(leaf, expected, region, device.type, name)
            if finding is not None:
                return finding
        if self._kind in VALUE_FREE_KINDS:
            return None
        actual = [returned.read_tensor(leaf, arena, device) for leaf in described]
        targets = [self._targets.output(self._round, index, name) for index, name in enumerate(names)]
        for name, spec in contract.named_tensors(self._case, self._argument_names):
            if self._is_written(name, spec):
                targets.append(self._targets.argument(self._round, name, spec))
                actual.append(self._argument_after(spec, after).to(device))
        return (
            self._check_values(targets, actual, reply)
            or self._check_surroundings(after)
            or self._check_repeat(actual)
        )

    def _check_values(
        self, targets: list[Target], actual: list[torch.Tensor], reply: dict[str, Any]
    ) -> Finding | None:
        for target in targets:
            self.tally.tolerance = self.tally.tolerance if target.tolerance is None else target.tolerance
        comparisons = [
            target.expected.compare(tensor) for target, tensor in zip(targets, actual, strict=True)
        ]
        for comparison in comparisons:
            self.tally.add(comparison)
        agrees = all(
            backendbench_agrees(tensor, target.expected.eager)
            for target, tensor in zip(targets, actual, strict=True)
        )
        self.tally.backendbench_passed = agrees and self.tally.backendbench_passed is not False
        wrong = [(target, item) for target, item in zip(targets, comparisons, strict=True) if not item.ok]
        if wrong and self._ties(targets, actual, comparisons):
            wrong = []
        if wrong:
            target, comparison = wrong[0]
            if self._settings.interpreter and self._has_bf16() and reply.get("bf16_arithmetic"):
                self.tally.forget_comparison()
                detail = (
                    "the interpreter computes bfloat16 arithmetic on raw bits; upcast to float32 or use a GPU"
                )
                return Finding(status=CaseStatus.NOT_JUDGED, reason="interpreter", detail=detail)
            detail = f"{target.where}: {comparison.detail}"
            return Finding(status=CaseStatus.FAILED, reason=comparison.reason, detail=detail)
        self._strike_controls(targets)
        return None

    def _strike_controls(self, targets: list[Target]) -> None:
        assert self._round is not None
        if self.tally.survivors is not None and not self.tally.survivors:
            return
        controls = controls_for(self._semantics, list(self._given()))
        if self.tally.survivors is None:
            self.tally.survivors = set(controls)
        eager = [target.expected.eager for target in targets]
        for name in tuple(self.tally.survivors):
            outputs = [controls[name](tensor) for tensor in eager]
            if not all(
                output is not None and target.expected.accepts(output)
                for target, output in zip(targets, outputs, strict=True)
            ):
                self.tally.survivors.discard(name)

    def _ties(self, targets: list[Target], actual: list[torch.Tensor], comparisons: list[Comparison]) -> bool:
        """Return whether the only wrong outputs are indices that select the right values."""
        index = self._semantics.tie_output
        if (
            index is None
            or index >= len(actual)
            or any(not item.ok for place, item in enumerate(comparisons) if place != index)
        ):
            return False
        assert self._round is not None
        got, expected = actual[index].cpu(), targets[index].expected.eager.cpu()
        return select_the_same(self._case, self._round.storages, got, expected, self._argument_names)

    def _check_surroundings(self, after: bytes | bytearray) -> Finding | None:
        assert self.layout is not None
        return contract.check_surroundings(
            self._before, after, self.layout, self._case, self._argument_names, self._writable
        )

    def _check_repeat(self, actual: list[torch.Tensor]) -> Finding | None:
        assert self._round is not None
        if self._first_values is None:
            self._first_values = [bits(tensor) for tensor in actual]
        elif self._round.name == REPEAT:
            self.tally.deterministic = len(actual) == len(self._first_values) and all(
                torch.equal(bits(tensor), first)
                for tensor, first in zip(actual, self._first_values, strict=True)
            )
        return None

    # --- small steps ------------------------------------------------------------------------------------------

    def _given(self) -> Iterator[torch.Tensor]:
        """Yield the arguments of this round that are tensors."""
        assert self._round is not None
        device = torch.device(self._settings.device)
        for _, spec in contract.named_tensors(self._case, self._argument_names):
            yield reference.build(spec, self._round.on_device, device, wide=False)

    def _in_round(self, finding: Finding) -> Finding:
        assert self._round is not None
        detail = f"round '{self._round.name}': {finding.detail}"
        return Finding(status=finding.status, reason=finding.reason, detail=detail)

    def _argument_after(self, spec: Any, after: bytes | bytearray) -> torch.Tensor:
        assert self.layout is not None
        region = self.layout.regions[spec.storage]
        dtype: torch.dtype = getattr(torch, self._case.storages[spec.storage].dtype)
        if not region.n_bytes:
            return torch.empty(spec.shape, dtype=dtype)
        data = bytearray(after[region.offset : region.offset + region.n_bytes])
        return torch.frombuffer(data, dtype=dtype).as_strided(spec.shape, spec.stride, spec.offset)

    def _has_bf16(self) -> bool:
        """Return whether the case itself asks for bfloat16; elsewhere it is the kernel's own wrong choice."""
        assert self._round is not None
        tensors = (*self._round.on_device, *self._round.eager.leaves)
        return any(tensor.dtype is torch.bfloat16 for tensor in tensors)

    def _is_written(self, name: str, spec: TensorSpec) -> bool:
        return spec.storage in self._undeclared or (
            spec.storage in self._writable and name.partition("[")[0] in self._semantics.mutated
        )

    def _note_undeclared_writes(self, first: Round) -> None:
        """Take what eager itself writes as allowed, where a schema is silent (running statistics of old ones)."""
        pairs = enumerate(zip(first.on_device, first.eager.storages, strict=True))
        changed = {index for index, (before, after) in pairs if not torch.equal(bits(before), bits(after))}
        self._undeclared = frozenset(changed - self._writable)
        self._writable |= self._undeclared

    def _writable_elements(self) -> bool:
        return any(self._case.storages[storage].numel for storage in self._writable)

    def _output_bytes_planned(self) -> int:
        assert self.layout is not None
        return self.layout.output_bytes

    @staticmethod
    def _output_bytes(current: Round) -> int:
        return sum(leaf.numel() * leaf.element_size() for leaf in current.eager.leaves)


def _output_name(index: int, total: int) -> str:
    return "the output" if total == 1 else f"output {index}"


def _only_nan(leaves: Sequence[torch.Tensor]) -> bool:
    floats = [leaf for leaf in leaves if leaf.numel() and (leaf.is_floating_point() or leaf.is_complex())]
    return bool(floats) and all(bool(torch.isnan(leaf).all()) for leaf in floats)
