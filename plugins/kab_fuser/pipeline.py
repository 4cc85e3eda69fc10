"""One module's way: whole, or lowered, cut, each region solved and judged, composed; what fails stays eager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kab_baseline.regions.attention import SOFTMAX
from kab_fuser.attention import CALL
from kab_fuser.compose import compose
from kab_fuser.library import computes
from kab_fuser.lower import Lowered, Undecomposed, lower
from kab_fuser.options import AUTO
from kab_fuser.partition import FASTER, Partition, Region, partition
from kab_fuser.signature import signature_of
from kab_fuser.solver import USABLE, Remembering, Solver
from kab_fuser.stages import Cut, roots_of, write_stages
from kagent_bench.hooks.protocols import GenerationRequest, GenerationResult
from kagent_bench.model.case import TensorSpec

if TYPE_CHECKING:
    from pathlib import Path

    from kab_fuser.options import FuserOptions
    from kab_fuser.region_store import RegionStore
    from kagent_bench.hooks.protocols import Generator
    from kagent_bench.model.case import ValueRule
    from kagent_bench.model.names import ProblemName
    from kagent_bench.model.program import Module, Program

MAX_CUTS = 8
"""Times that a module is cut again because calls turned out to stay with the library."""
CELLS = frozenset(f"aten.{name}_cell.default" for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"))
"""Calls that PyTorch does as products and one kernel for the gates, on every device."""
NATIVE = "the library has one kernel for all of it, which is faster here"


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
    _solver: Solver = field(init=False)
    _judge: Remembering = field(init=False)
    _notes: list[str] = field(default_factory=list)
    _apart: set[str] = field(default_factory=set)
    """The module's softmaxes whose attention is not one region."""

    def __post_init__(self) -> None:
        """Make the solver of regions."""
        self._judge = Remembering(self.request.judge)
        self._solver = Solver(
            request=self.request,
            inner=self.inner,
            name=self.options.inner,
            table=self.table,
            store=self.store,
            lock_of=self.lock_of,
            keep_slow=self.options.keep_slow,
        )

    @property
    def asked(self) -> set[ProblemName]:
        """Problems that the inner generator was given."""
        return self._solver.asked

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
        if self.options.inner == "baseline":  # it writes the region's kernel either way
            return False
        try:
            lowered = lower(self._module.program)
        except Undecomposed:
            return False
        cut = partition(lowered.program, lowered.origin, frozenset())
        rest = [item for item in cut.items if not isinstance(item, Region) and computes(item.operator)]
        return len(cut.regions) == 1 and not rest

    def _whole(self) -> GenerationResult:
        self.asked.add(self.request.problem.operator)
        result = self.inner.generate(replace(self.request, options=self.table, judge=self._judge))
        if result.source is None:
            return result
        attempt = self._judge(result.source)
        if attempt.verdict not in USABLE:
            return GenerationResult(
                source=None, reason=attempt.verdict, detail=attempt.feedback, attempts=result.attempts
            )
        details = {**result.details, "route": "whole", "reason": "one kernel does the whole module"}
        return replace(result, details=details)

    # --- regions ----------------------------------------------------------------------------------------------

    def _regions(self) -> GenerationResult:
        leaves = self.options.leaves_products(self.request.device)
        try:
            cut = self._solved_cut({}, products=not leaves)
            if not cut.sources and self._solver.take_slow():
                self._notes.append("slow kernels are kept: there are no others")
                cut = self._solved_cut({}, products=not leaves)
            if not cut.sources and leaves and self.options.products == AUTO:
                self._notes.append("products are kernels: nothing else is to be computed")
                self._solver.keep_slow = True
                fused = {node.name: NATIVE for node in self._module.program.nodes if node.operator == CALL}
                cut = self._solved_cut(fused, products=True)
                if not cut.sources:
                    cut = self._solved_cut({}, products=True)
        except Undecomposed as error:
            detail = f"{self._module.name} cannot be lowered: {error}"
            return GenerationResult(source=None, reason="not_lowered", detail=detail)
        if not cut.sources:
            shown = "; ".join(f"{name}: {why}" for name, why in sorted(cut.eager.items()))
            detail = f"no region has a kernel ({shown or 'no compute'})"
            return GenerationResult(source=None, reason="nothing_solved", detail=detail)
        text = self._composed(cut)
        cut, text = self._right(cut, text)
        if not self.options.keep_slow:
            cut, text = self._faster(cut, text)
        if self.folder is not None:
            write_stages(self.folder, cut, self._notes, text)
        return GenerationResult(
            source=text,
            detail="; ".join([*self._notes, *cut.partition.decisions]) if self.options.explain else "",
            details={
                "route": "regions",
                "reason": "; ".join(self._notes) or "the module is more than one kernel",
                "inner": self.options.inner,
                "regions": len(cut.signatures),
                "distinct_regions": len({item.name for item in cut.signatures}),
                "eager_calls": len(cut.eager),
                "region_attempts": self._solver.attempts,
            },
        )

    def _composed(self, cut: Cut) -> str:
        sources = dict(enumerate(cut.sources))
        case = self.request.problem.cases[0]
        return compose(self._module, case, cut.lowered, cut.partition, sources, cut.names(), cut.eager)

    def _right(self, cut: Cut, text: str) -> tuple[Cut, str]:
        """Return another composition where this one is wrong and the other is not.

        All regions are right: PyTorch's decomposition may not be. The other leaves to the library what was decomposed.
        """
        verdict = self._judge(text).verdict
        left = dict.fromkeys(self._native(cut), f"the kernels of its parts are together {verdict}")
        if verdict in USABLE or not left:
            return cut, text
        other = self._solved_cut(dict(left), products=not self.options.leaves_products(self.request.device))
        changed = self._composed(other) if other.sources else text
        if self._judge(changed).verdict not in USABLE:
            return cut, text
        self._notes.append(f"{', '.join(left)} stay with the library: {verdict}")
        return other, changed

    def _faster(self, cut: Cut, text: str) -> tuple[Cut, str]:
        """Return another composition where a device shows that this one is slower than eager and the other is not.

        A region is timed beside the finer calls that it is made of. Where the library has one kernel for all of them,
        as for a normalisation, that says little: one other composition leaves such calls to the library. Another
        leaves it the regions that are slower than their calls, by less than ``SLOWEST`` each.
        """
        speedup = self._judge(text).speedup
        products = not self.options.leaves_products(self.request.device)
        kept: dict[str, str] = {}
        for slower in (self._native, self._lagging):
            if speedup is None or speedup >= 1.0 or len(self._judge.known) >= self.request.max_attempts:
                break
            left = slower(cut)
            other = self._solved_cut({**kept, **left}, products=products) if left else cut
            if not left or not other.sources:
                continue
            changed = self._composed(other)
            again = self._judge(changed).speedup
            if again is not None and again > speedup:
                self._notes.append(
                    f"{', '.join(left)} stay with the library: {again:.2f} of eager's speed, not {speedup:.2f}"
                )
                cut, text, speedup, kept = other, changed, again, left
        return cut, text

    def _native(self, cut: Cut) -> dict[str, str]:
        """Return the module's calls for which the library may have one kernel and this composition has several steps."""
        parts = cut.lowered.parts
        return {name: NATIVE for name, count in parts.items() if name and count > 1 and name not in cut.eager}

    def _lagging(self, cut: Cut) -> dict[str, str]:
        """Return the module's calls in regions that are slower than their calls."""
        found: dict[str, str] = {}
        for region, signature in zip(cut.partition.regions, cut.signatures, strict=True):
            speedup = self._solver.speedups.get(signature.name, 1.0)
            if speedup < 1.0:
                why = f"its kernel has {speedup:.2f} of the library's speed"
                owners = (
                    cut.lowered.origin.get(node.name) for node in region.calls if computes(node.operator)
                )
                found |= {owner: why for owner in owners if owner}
        return found

    def _solved_cut(self, opaque: dict[str, str], *, products: bool) -> Cut:
        """Cut and solve, leaving calls to the library until every region has a kernel.

        Args:
            opaque: the module's calls that the library does as a whole, each with the reason; more are added.
            products: whether kernels are written for matrix products and convolutions.
        """
        for _ in range(MAX_CUTS):
            lowered = self._lowered(opaque, bias_apart=not products)
            cut = partition(
                lowered.program,
                lowered.origin,
                frozenset(opaque),
                products=products,
                apart=frozenset(self._apart),
            )
            before = len(opaque) + len(self._apart)
            in_part = _leave(lowered, cut, opaque, self._module.program)
            if len(opaque) + len(self._apart) > before:
                continue
            signatures = tuple(signature_of(region.program) for region in cut.regions)
            rules = self._rules(lowered)
            for region, signature in zip(cut.regions, signatures, strict=True):
                by_place = {
                    neutral.name: rules[own.name]
                    for neutral, own in zip(signature.program.inputs, region.program.inputs, strict=True)
                    if own.name in rules
                }
                self._solver.solve(signature, by_place)
                why = self._solver.failed.get(signature.name)
                if why is not None and region.is_attention:
                    self._take_apart(region, lowered, why)
                elif why is not None:
                    for node in region.calls:
                        owner = lowered.origin.get(node.name, "")
                        if owner and computes(node.operator):
                            opaque.setdefault(owner, why)
            if len(opaque) + len(self._apart) == before:
                sources = tuple(self._solver.kernels[item.name] for item in signatures)
                eager = {**in_part, **opaque}
                return Cut(
                    lowered=lowered, partition=cut, signatures=signatures, sources=sources, eager=eager
                )
        return Cut(lowered=lowered, partition=cut, signatures=(), sources=(), eager=opaque)

    def _lowered(self, opaque: dict[str, str], *, bias_apart: bool) -> Lowered:
        """Return the module in finer calls; those that have none are left to the library, too."""
        while True:
            try:
                return lower(self._module.program, frozenset(opaque), bias_apart=bias_apart)
            except Undecomposed as error:
                if error.call in opaque:
                    raise
                opaque[error.call] = f"PyTorch does not decompose it: {error.why}"

    def _take_apart(self, region: Region, lowered: Lowered, why: str) -> None:
        """Cut an attention without a kernel as if it were none."""
        softmax = next(node.name for node in region.calls if node.operator == SOFTMAX)
        self._apart.add(lowered.origin[softmax])
        self._notes.append(f"the attention of {softmax} is no region: {why}")

    def _rules(self, lowered: Lowered) -> dict[str, ValueRule]:
        """Return how the module's own arguments and weights are drawn, also for plain views of them."""
        case = self.request.problem.cases[0]
        program = self._module.program
        named = dict(case.kwargs)
        given = [
            *zip(program.inputs, _leaves(case.args), strict=False),
            *((item, named.get(item.name)) for item in program.state),
        ]
        rules = {
            item.name: case.storages[value.storage].rule
            for item, value in given
            if isinstance(value, TensorSpec)
        }
        for name, root in roots_of(lowered).items():
            if root in rules:
                rules[name] = rules[root]
        return rules


def _leave(lowered: Lowered, cut: Partition, opaque: dict[str, str], program: Program) -> dict[str, str]:
    """Leave to the library the module's calls of which some part has no region.

    Args:
        lowered: the module in finer calls.
        cut: its regions.
        opaque: calls that the library does as a whole; those found are added.
        program: the module's.

    Returns:
        Calls of which the library does the products and kernels do the rest, with the reason.
    """
    in_part: dict[str, str] = {}
    cells = {node.name for node in program.nodes if node.operator in CELLS}
    for item in cut.items:
        if isinstance(item, Region) or not computes(item.operator):
            continue
        owner = lowered.origin.get(item.name, "")
        if not owner or owner in opaque:
            continue
        why = next((text for text in cut.decisions if text.startswith(f"{item.name} (")), "")
        why = why.partition(": ")[2] or f"no kernel for {item.operator}"
        if why == FASTER and (item.operator == "aten.convolution.default" or owner in cells):
            in_part[owner] = why
        else:
            opaque[owner] = why
    return in_part


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]
