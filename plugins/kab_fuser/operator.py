"""An operator's kernel: one of the inner generator's, or PyTorch's own decomposition with a kernel for each finer call.

An operator is judged on shapes that nobody is shown, so its composition is no graph of one call: the decomposition runs
in the kernel file, for whatever arguments come, and every call in it that computes goes to an authored kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from kab_fuser.merge import Merged, NotMergeable
from kab_fuser.operator_calls import FILL, CallWatch, Undone, decomposition, live_arguments, variants
from kab_fuser.partition import Region
from kab_fuser.signature import signature_of
from kab_fuser.subgraphs import subgraphs_text
from kagent_bench.artefacts.problem import build_problem
from kagent_bench.evaluate.modules.interpret import find_operator
from kagent_bench.hooks.protocols import Attempt, GenerationResult
from kagent_bench.model.names import OperatorName
from kagent_bench.model.program import Program
from kagent_bench.model.selection import OperatorCases
from kagent_bench.model.verdict import OperatorVerdict
from kagent_bench.stores.atomic import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from kagent_bench.hooks.protocols import GenerationRequest, Generator
    from kagent_bench.model.case import Case
    from kagent_bench.model.names import ProblemName


VARIED = 4
"""Cases whose arguments are varied, the first ones."""


@dataclass(slots=True, kw_only=True)
class OperatorComposition:
    """The way of one operator."""

    request: GenerationRequest
    inner: Generator
    name: str
    """The inner generator's."""
    table: Mapping[str, Any]
    """The inner generator's options."""
    whole: bool
    """Whether one kernel will do."""
    parts: bool
    """Whether a composition will do."""
    folder: Path | None
    """Where the stages are left."""
    asked: set[ProblemName] = field(default_factory=set)
    """Problems that the inner generator was given."""
    _sources: dict[str, str] = field(default_factory=dict)
    """Kernel files of finer calls."""
    _finer: dict[str, None] = field(default_factory=dict)
    """Calls that are decomposed in their turn."""
    _made: list[Program] = field(default_factory=list)
    """The finer calls of all cases, each by itself."""

    def run(self) -> GenerationResult:
        """Return the kernel of the operator, or why there is none."""
        operator = self.request.problem.operator
        why = ""
        if self.whole:
            self.asked.add(operator)
            result = self.inner.generate(replace(self.request, options=self.table))
            if result.source is not None or not self.parts:
                return result
            why = f"{self.name}: {result.detail or result.reason}; "
        try:
            source = self._composed()
        except Undone as error:
            return GenerationResult(source=None, reason="unsupported", detail=f"{why}{error}")
        except Exception as error:  # noqa: BLE001 - PyTorch refuses in many ways to decompose
            detail = f"{why}{operator} cannot be decomposed: {type(error).__name__}: {error}"
            return GenerationResult(source=None, reason="not_lowered", detail=detail)
        if self.folder is not None:
            self._write_stages(self.folder, source)
        return GenerationResult(
            source=source, details={"route": "calls", "inner": self.name, "calls": len(self._sources)}
        )

    def _composed(self) -> str:
        operator = self.request.problem.operator
        self._finer[f"aten.{operator}"] = None
        while True:
            calls = self._calls()
            if not calls:
                raise Undone(f"PyTorch's decomposition of {operator} has no call that computes")
            before = len(self._finer)
            for name, cases in calls.items():
                if name not in self._sources:
                    self._solve(name, cases)
            if len(self._finer) == before:
                break
        for name, cases in self._other_calls().items():
            if name not in self._sources:
                with suppress(Undone):
                    self._solve(name, cases)
        return self._text(list(self._sources))

    def _calls(self) -> dict[str, list[Case]]:
        """Return the finer calls that compute, over all cases that are shown, each with some calls of it."""
        found: dict[str, list[Case]] = {}
        self._made.clear()
        for case in self.request.problem.cases:
            self._made += self._watched(case, found)
        return found

    def _other_calls(self) -> dict[str, list[Case]]:
        """Return the finer calls for arguments that no case has: they may come, and some mean nothing."""
        found: dict[str, list[Case]] = {}
        for case in self.request.problem.cases[:VARIED]:
            for other in variants(case):
                with suppress(Exception):
                    self._watched(other, found)
        return found

    def _watched(self, case: Case, found: dict[str, list[Case]]) -> list[Program]:
        """Make a call without values; return the finer ones."""
        with FakeTensorMode(), torch.no_grad():
            watch = CallWatch(frozenset(self._finer), case.dtype, found)
            args, kwargs = live_arguments(case)
            with watch:
                find_operator(f"aten.{self.request.problem.operator}")(*args, **kwargs)
        return watch.calls

    def _solve(self, name: str, cases: list[Case]) -> None:
        """Have a kernel written for a finer call, or mark it as one that is decomposed in its turn."""
        operator = OperatorName.parse(name)
        item = OperatorCases(operator=operator, kind="value", cases=tuple(cases))
        self.asked.add(operator)
        judge: Callable[[str], Attempt] = _unjudged
        if self.request.judge_part is not None:
            judge = self.request.judge_part(item)
        problem = build_problem(item, self.request.tolerance)
        result = self.inner.generate(replace(self.request, problem=problem, judge=judge, options=self.table))
        if result.source is not None:
            self._sources[name] = result.source
        elif decomposition(find_operator(name)) is not None:
            self._finer[name] = None
        else:
            why = result.detail or result.reason
            raise Undone(f"{self.request.problem.operator} is made of {operator}: {self.name}: {why}")

    def _write_stages(self, folder: Path, source: str) -> None:
        """Leave what a module's composition leaves: each distinct finer call as a subgraph, its kernel, the reasons."""
        (folder / "regions").mkdir(parents=True, exist_ok=True)
        regions = [
            (Region(calls=call.nodes, program=call, single=True), signature_of(call)) for call in self._made
        ]
        nothing = Program(inputs=(), state=(), constants=(), nodes=(), output=None)
        write_text(folder / "subgraphs.json", subgraphs_text(nothing, regions, {}))
        for name, text in self._sources.items():
            write_text(folder / "regions" / f"{OperatorName.parse(name).folder}.py", text)
        reasons = [
            f"{name.removeprefix('aten.')} is made of others: PyTorch's decomposition" for name in self._finer
        ]
        reasons += [f"{name.removeprefix('aten.')} is a kernel for any shape" for name in self._sources]
        write_text(folder / "explain.txt", "\n".join(reasons) + "\n")
        write_text(folder / "composed_kernel.py", source)

    def _text(self, calls: list[str]) -> str:
        """Return the kernel file."""
        merged = Merged()
        rows = ""
        for name in calls:
            operator = OperatorName.parse(name)
            function = f"{operator.folder.strip('_').lower()}_call"
            try:
                merged.add(self._sources[name], operator.kernel_function, function, function)
            except NotMergeable as error:
                raise Undone(f"the kernel of {operator} cannot stand beside others: {error}") from error
            rows += f'    "{name}": {function},\n'
        operator_name = self.request.problem.operator
        finer = (
            "".join(f'"{name}", ' for name in self._finer).strip().removesuffix("," * (len(self._finer) > 1))
        )
        imports = "".join(f"{line}\n" for line in merged.imports if line != "import torch")
        return f'''"""{operator_name}: PyTorch's own decomposition, with a kernel for each call in it that computes."""

import torch
{imports}from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode
{merged.text()}

KERNELS = {{
{rows}}}
"""By the call that each does."""
DECOMPOSED = ({finer})
"""Calls that are made of others."""


class ByKernels(TorchDispatchMode):
    """Has every call that computes done by a kernel; views and allocations stay as they are."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # the first call would import PyTorch's compiler, a second's work

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        name, kwargs = str(operator), kwargs or {{}}
        if name in KERNELS:
            return KERNELS[name](*args, **kwargs)
        if name == "{FILL}":
            return torch.full((), *args, **kwargs)
        if name in DECOMPOSED:
            with self:
                return decomposition_table.get(operator, operator.decompose)(*args, **kwargs)
        return operator(*args, **kwargs)


def {operator_name.kernel_function}(*args, **kwargs):
    with ByKernels():
        return torch.ops.aten.{operator_name}(*args, **kwargs)
'''


def _unjudged(source: str) -> Attempt:
    return Attempt(source=source, verdict=OperatorVerdict.CORRECT.value, feedback="")
