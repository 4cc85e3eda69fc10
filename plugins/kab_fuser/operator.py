"""An operator's kernel: one of the inner generator's, or PyTorch's own decomposition with a kernel for each finer call.

An operator is judged on shapes that nobody is shown, so its composition is no graph of one call: the decomposition runs
in the kernel file, for whatever arguments come, and every call in it that computes goes to an authored kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import FakeTensorMode

from kab_fuser.library import computes
from kab_fuser.merge import Merged, NotMergeable
from kab_fuser.signature import storage_of
from kab_fuser.tensor_facts import facts_of
from kagent_bench.artefacts.problem import build_problem
from kagent_bench.evaluate.modules.interpret import find_operator
from kagent_bench.hooks.protocols import Attempt, GenerationResult
from kagent_bench.model.case import Case, StorageSpec, SymbolSpec, TensorSpec, Value
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.model.selection import OperatorCases
from kagent_bench.model.verdict import OperatorVerdict
from kagent_bench.suites.recording.dispatch_watch import DispatchWatch

if TYPE_CHECKING:
    from torch._ops import OpOverload

    from kagent_bench.hooks.protocols import GenerationRequest, Generator
    from kagent_bench.model.names import ProblemName

FILL = "aten.scalar_tensor.default"
"""A fill under a name of its own."""
MAX_CASES = 8
"""Calls that are shown of a finer operator, the first ones of different arguments."""


class _Undone(Exception):
    """The operator cannot be composed; the text says why."""


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
    asked: set[ProblemName] = field(default_factory=set)
    """Problems that the inner generator was given."""
    _sources: dict[str, str] = field(default_factory=dict)
    """Kernel files of finer calls."""
    _finer: dict[str, None] = field(default_factory=dict)
    """Calls that are decomposed in their turn."""

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
        except _Undone as error:
            return GenerationResult(source=None, reason="unsupported", detail=f"{why}{error}")
        except Exception as error:  # noqa: BLE001 - PyTorch refuses in many ways to decompose
            detail = f"{why}{operator} cannot be decomposed: {type(error).__name__}: {error}"
            return GenerationResult(source=None, reason="not_lowered", detail=detail)
        return GenerationResult(
            source=source, details={"route": "calls", "inner": self.name, "calls": len(self._sources)}
        )

    def _composed(self) -> str:
        operator = self.request.problem.operator
        self._finer[f"aten.{operator}"] = None
        while True:
            calls = self._calls()
            if not calls:
                raise _Undone(f"PyTorch's decomposition of {operator} has no call that computes")
            before = len(self._finer)
            for name, cases in calls.items():
                if name not in self._sources:
                    self._solve(name, cases)
            if len(self._finer) == before:
                return self._text(list(calls))

    def _calls(self) -> dict[str, list[Case]]:
        """Return the finer calls that compute, over all cases that are shown, each with some calls of it."""
        found: dict[str, list[Case]] = {}
        for case in self.request.problem.cases:
            with FakeTensorMode(), torch.no_grad():
                watch = _Watch(frozenset(self._finer), case.dtype, found)
                args, kwargs = _live(case)
                with watch:
                    find_operator(f"aten.{self.request.problem.operator}")(*args, **kwargs)
        return found

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
            raise _Undone(f"{self.request.problem.operator} is made of {operator}: {self.name}: {why}")

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
                raise _Undone(f"the kernel of {operator} cannot stand beside others: {error}") from error
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


def decomposition(operator: OpOverload) -> Callable[..., Any] | None:
    """Return PyTorch's own way to make a call of finer ones, None where it has none."""
    found = decomposition_table.get(operator)
    if found is None and operator.has_kernel_for_dispatch_key(
        torch._C.DispatchKey.CompositeImplicitAutograd  # noqa: SLF001 - its only name
    ):
        return operator.decompose
    return found


class _Watch(DispatchWatch):
    """Notes which calls compute, decomposing those that are to be."""

    def __init__(self, finer: frozenset[str], dtype: str, found: dict[str, list[Case]]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._finer = finer
        self._dtype = dtype
        self._found = found

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = str(func), kwargs or {}
        if name in self._finer:
            made = decomposition(func)
            if made is None:
                raise _Undone(f"PyTorch has no decomposition of {name.removeprefix('aten.')}")
            with self:
                result = made(*args, **kwargs)
            if result is NotImplemented:
                raise _Undone(f"PyTorch does not decompose {name.removeprefix('aten.')} for these arguments")
            return result
        if computes(name) and name != FILL:
            self._note(name, args, kwargs)
        return func(*args, **kwargs)

    def _note(self, name: str, args: Any, kwargs: dict[str, Any]) -> None:
        cases = self._found.setdefault(name, [])
        storages: list[StorageSpec] = []
        case = make_case(
            OperatorName.parse(name),
            tuple(_value(item, storages) for item in args),
            tuple((key, _value(item, storages)) for key, item in kwargs.items()),
            tuple(storages),
            dtype=self._dtype,
            origin="direct",
        )
        if len(cases) < MAX_CASES and all(case.id != known.id for known in cases):
            cases.append(case)


def _live(case: Case) -> tuple[list[Any], dict[str, Any]]:
    """Return a case's arguments, tensors without values."""
    flat = [torch.empty(item.numel, dtype=getattr(torch, item.dtype)) for item in case.storages]

    def live(value: Value) -> Any:
        if isinstance(value, TensorSpec):
            return flat[value.storage].as_strided(value.shape, value.stride, value.offset)
        if isinstance(value, SymbolSpec):
            return "cpu" if value.kind == "device" else getattr(torch, value.name)
        return [live(item) for item in value] if isinstance(value, tuple) else value

    return [live(item) for item in case.args], {name: live(item) for name, item in case.kwargs}


def _value(item: Any, storages: list[StorageSpec]) -> Value:
    """Return an argument of a call as data; a tensor's values are drawn afresh."""
    if isinstance(item, torch.Tensor):
        facts = facts_of(item)
        storages.append(storage_of(facts, None))
        return TensorSpec(storage=len(storages) - 1, shape=facts.shape, stride=facts.stride)
    if isinstance(item, torch.dtype | torch.layout | torch.memory_format):
        kind = str(type(item).__name__)
        return SymbolSpec(kind=kind, name=str(item).removeprefix("torch."))
    if isinstance(item, torch.device):
        return SymbolSpec(kind="device", name="target")
    return tuple(_value(part, storages) for part in item) if isinstance(item, list | tuple) else item


def _unjudged(source: str) -> Attempt:
    return Attempt(source=source, verdict=OperatorVerdict.CORRECT.value, feedback="")
