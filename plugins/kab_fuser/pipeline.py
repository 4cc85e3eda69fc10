"""One module's way: whole, or lowered, cut, each region solved and judged, composed; what fails stays eager."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kab_fuser.compose import compose
from kab_fuser.library import computes
from kab_fuser.lower import Lowered, lower
from kab_fuser.partition import Partition, partition
from kab_fuser.region_source import region_source
from kab_fuser.signature import Signature, problem_of, signature_of
from kab_fuser.subgraphs import subgraphs_text
from kagent_bench.artefacts.problem import build_problem
from kagent_bench.hooks.protocols import Attempt, GenerationRequest, GenerationResult
from kagent_bench.model.case import TensorSpec
from kagent_bench.model.identity import digest
from kagent_bench.model.program import GET_ITEM, NodeRef
from kagent_bench.model.verdict import OperatorVerdict
from kagent_bench.stores.atomic import write_text

if TYPE_CHECKING:
    from kab_fuser.options import FuserOptions
    from kab_fuser.region_store import RegionStore
    from kagent_bench.hooks.protocols import Generator
    from kagent_bench.model.case import ValueRule
    from kagent_bench.model.names import ProblemName
    from kagent_bench.model.program import Module

MAX_CUTS = 8
"""Times that a module is cut again because calls turned out to stay with the library."""
_CORRECT = OperatorVerdict.CORRECT.value
_USABLE = frozenset([_CORRECT, OperatorVerdict.NOT_JUDGED.value])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """A module cut into regions, all of which have a kernel."""

    lowered: Lowered
    partition: Partition
    signatures: tuple[Signature, ...]
    sources: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Pipeline:
    """The pipeline of one module."""

    request: GenerationRequest
    options: FuserOptions
    inner: Generator
    table: Mapping[str, Any]
    store: RegionStore
    folder: Path | None
    lock_of: Callable[[str], AbstractContextManager[Any]]
    asked: set[ProblemName] = field(default_factory=set)
    """Problems that the inner generator was given."""
    _kernels: dict[str, str] = field(default_factory=dict)
    _failed: dict[str, str] = field(default_factory=dict)
    _notes: list[str] = field(default_factory=list)
    _attempts: int = 0
    _started: float = field(default_factory=time.monotonic)

    @property
    def _module(self) -> Module:
        module = self.request.problem.module
        assert module is not None
        return module

    def run(self) -> GenerationResult:
        """Return the kernel of the module."""
        route = self.options.route
        whole: GenerationResult | None = None
        if route == "whole" or (route == "auto" and self._is_one()):
            whole = self._whole()
            if whole.source is not None:
                return whole
            self._notes.append(f"not as a whole: {whole.detail}")
            if route == "whole":
                return whole
        result = self._regions()
        if result.source is None and route == "auto" and whole is None:
            whole = self._whole()
            if whole.source is not None:
                return whole
        return result

    # --- whole ------------------------------------------------------------------------------------------------

    def _is_one(self) -> bool:
        """Return whether the module is small enough to be one region: then one kernel is tried first."""
        try:
            lowered = lower(self._module.program)
        except Exception:  # noqa: BLE001 - the pipeline says what is wrong
            return False
        cut = partition(lowered.program, lowered.origin, frozenset())
        rest = [item for item in cut.items if not hasattr(item, "calls") and computes(item.operator)]
        return len(cut.regions) == 1 and not rest and self.options.inner != "baseline"

    def _whole(self) -> GenerationResult:
        self.asked.add(self.request.problem.operator)
        result = self.inner.generate(replace(self.request, options=self.table))
        if result.source is None:
            return result
        verdict, feedback = self._verdict(result, result.source, self.request.judge)
        if verdict not in _USABLE:
            return GenerationResult(
                source=None, reason=str(verdict), detail=feedback, attempts=result.attempts
            )
        details = {**result.details, "route": "whole", "reason": "one kernel does the whole module"}
        return replace(result, details=details)

    # --- regions ----------------------------------------------------------------------------------------------

    def _regions(self) -> GenerationResult:
        eager: dict[str, str] = {}
        try:
            cut = self._solved_cut(eager)
        except Exception as error:  # noqa: BLE001 - PyTorch refuses in many ways to decompose
            detail = f"{self._module.name} cannot be lowered: {type(error).__name__}: {error}"
            return GenerationResult(source=None, reason="not_lowered", detail=detail)
        if not cut.sources:
            shown = "; ".join(f"{name}: {why}" for name, why in sorted(eager.items()))
            return GenerationResult(
                source=None,
                reason="nothing_solved",
                detail=f"no region has a kernel ({shown or 'no compute'})",
            )
        names = self._names(cut)
        case = self.request.problem.cases[0]
        text = compose(
            self._module, case, cut.lowered, cut.partition, dict(enumerate(cut.sources)), names, eager
        )
        self._write(cut, text, eager)
        return GenerationResult(
            source=text,
            detail="; ".join([*self._notes, *cut.partition.decisions]) if self.options.explain else "",
            details={
                "route": "regions",
                "reason": "; ".join(self._notes) or "the module is more than one kernel",
                "inner": self.options.inner,
                "regions": len(cut.signatures),
                "distinct_regions": len({item.name for item in cut.signatures}),
                "eager_calls": len(eager),
                "region_attempts": self._attempts,
            },
        )

    def _solved_cut(self, eager: dict[str, str]) -> _Cut:
        """Cut and solve, leaving calls to the library until every region has a kernel."""
        for _ in range(MAX_CUTS):
            opaque = frozenset(eager)
            lowered = lower(self._module.program, opaque)
            cut = partition(lowered.program, lowered.origin, opaque)
            before = len(eager)
            self._leave(lowered, cut, eager)
            if len(eager) > before:
                continue
            signatures = tuple(signature_of(region.program) for region in cut.regions)
            rules = self._rules(lowered)
            for region, signature in zip(cut.regions, signatures, strict=True):
                by_place = {
                    neutral.name: rules[own.name]
                    for neutral, own in zip(signature.program.inputs, region.program.inputs, strict=True)
                    if own.name in rules
                }
                self._solve(signature, by_place)
                if signature.name in self._failed:
                    for node in region.calls:
                        owner = lowered.origin.get(node.name, "")
                        if owner and computes(node.operator):
                            eager.setdefault(owner, self._failed[signature.name])
            if len(eager) == before:
                sources = tuple(self._kernels[item.name] for item in signatures)
                return _Cut(lowered=lowered, partition=cut, signatures=signatures, sources=sources)
        return _Cut(lowered=lowered, partition=cut, signatures=(), sources=())

    def _leave(self, lowered: Lowered, cut: Partition, eager: dict[str, str]) -> None:
        """Leave to the library the module's calls of which some part has no region."""
        for item in cut.items:
            if hasattr(item, "calls") or not computes(item.operator):
                continue
            owner = lowered.origin.get(item.name, "")
            if owner and owner not in eager:
                why = next((text for text in cut.decisions if text.startswith(f"{item.name} (")), "")
                eager[owner] = why.partition(": ")[2] or f"no kernel for {item.operator}"

    def _rules(self, lowered: Lowered) -> dict[str, ValueRule]:
        """Return how the module's own arguments and weights are drawn, also for plain views of them."""
        case = self.request.problem.cases[0]
        program = self._module.program
        rules: dict[str, ValueRule] = {}
        leaves = _leaves(case.args)
        for item, value in (*zip(program.inputs, leaves, strict=False), *_state(program, dict(case.kwargs))):
            if isinstance(value, TensorSpec):
                rules[item.name] = case.storages[value.storage].rule
        for name, root in roots_of(lowered).items():
            if root in rules:
                rules[name] = rules[root]
        return rules

    def _solve(self, signature: Signature, rules: Mapping[str, ValueRule]) -> None:
        if signature.name in self._kernels or signature.name in self._failed:
            return
        with self.lock_of(signature.name):
            key = f"{signature.name}-{digest([[name, repr(rule)[:200]] for name, rule in sorted(rules.items())])[:8]}"
            known = self.store.find(key)
            if known is not None:
                self._kernels[signature.name] = known
                return
            item = problem_of(signature, rules, region_source(signature.program))
            self.asked.add(item.operator)
            judge = self._judge(item)
            remaining = self.request.deadline_s - (time.monotonic() - self._started)
            request = replace(
                self.request,
                problem=build_problem(item, self.request.tolerance),
                judge=judge,
                deadline_s=max(remaining, 1.0),
                options=self.table,
            )
            result = self.inner.generate(request)
            if result.source is None:
                self._failed[signature.name] = f"{self.options.inner}: {result.detail or result.reason}"
                return
            verdict, feedback = self._verdict(result, result.source, judge)
            if verdict in _USABLE:
                self._kernels[signature.name] = result.source
                if verdict == _CORRECT:
                    self.store.keep(key, result.source)
            else:
                first = feedback.splitlines()[0] if feedback else ""
                self._failed[signature.name] = f"its kernel is {verdict}: {first}"

    def _judge(self, item: Any) -> Callable[[str], Attempt]:
        if self.request.judge_part is None:
            return lambda source: Attempt(source=source, verdict=_CORRECT, feedback="")
        judge = self.request.judge_part(item)

        def counted(source: str) -> Attempt:
            self._attempts += 1
            return judge(source)

        return counted

    @staticmethod
    def _verdict(result: GenerationResult, source: str, judge: Callable[[str], Attempt]) -> tuple[str, str]:
        """Return the evaluator's word on a kernel; it is asked where the generator did not ask."""
        for attempt in result.attempts:
            if attempt.source == source and attempt.verdict == _CORRECT:
                break
        attempt = judge(source)
        return attempt.verdict, attempt.feedback

    # --- results ----------------------------------------------------------------------------------------------

    @staticmethod
    def _names(cut: _Cut) -> dict[int, str]:
        """Return what each region's function is called: one name for one signature."""
        known: dict[str, str] = {}
        names: dict[int, str] = {}
        for index, (region, signature) in enumerate(zip(cut.partition.regions, cut.signatures, strict=True)):
            if signature.name not in known:
                words = [
                    node.operator.split(".")[1].strip("_")
                    for node in region.calls
                    if node.operator != GET_ITEM
                ]
                known[signature.name] = (
                    f"region_{len(known) + 1}_{'_'.join(dict.fromkeys(words))[:40].strip('_')}"
                )
            names[index] = known[signature.name]
        return names

    def _write(self, cut: _Cut, text: str, eager: Mapping[str, str]) -> None:
        """Write the stages beside the kernel."""
        if self.folder is None:
            return
        regions = list(zip(cut.partition.regions, cut.signatures, strict=True))
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "regions").mkdir(exist_ok=True)
        write_text(
            self.folder / "subgraphs.json",
            subgraphs_text(_with_constants(cut.lowered), regions, roots_of(cut.lowered)),
        )
        for signature, source in zip(cut.signatures, cut.sources, strict=True):
            write_text(self.folder / "regions" / f"{signature.name}.py", source)
        lines = [*self._notes, *cut.partition.decisions]
        lines += [f"{name} stays with the library: {why}" for name, why in sorted(eager.items())]
        write_text(self.folder / "explain.txt", "\n".join(lines) + "\n")
        write_text(self.folder / "composed_kernel.py", text)


def _with_constants(lowered: Lowered) -> Any:
    return lowered.program


def roots_of(lowered: Lowered) -> dict[str, str]:
    """Return for each value that is a plain view of an argument or weight, what it is a view of."""
    own = {item.name for item in (*lowered.program.inputs, *lowered.program.state)}
    roots: dict[str, str] = {}
    for node in lowered.program.nodes:
        source = node.args[0] if node.args else None
        if isinstance(source, NodeRef) and not computes(node.operator) and node.operator != GET_ITEM:
            root = roots.get(source.name, source.name)
            if root in own:
                roots[node.name] = root
    return roots


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _state(program: Any, named: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    return [(item, named.get(item.name)) for item in program.state]
