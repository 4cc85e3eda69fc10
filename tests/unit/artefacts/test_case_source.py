"""The self-contained test file: what it holds, which kernels pass it, and which fail and why."""

from __future__ import annotations

import importlib.util
import math
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagent_bench.artefacts.case_source import write_test_source
from kagent_bench.model.case import (
    Case,
    IntegerValues,
    LiteralValues,
    StorageSpec,
    SymbolSpec,
    TensorSpec,
    UniformValues,
    Value,
    ValueRule,
)
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName

torch = pytest.importorskip("torch")

TOLERANCE = {"float32": 2e-6, "float16": 2e-3, "bfloat16": 2e-2, "complex64": 2e-6, "float64": 1e-14}
COUNTER = iter(range(10**9))
UNIFORM = UniformValues(low=-9.0, high=9.0)


@pytest.fixture(autouse=True)
def _environment() -> Iterator[None]:
    """Undo what a test file does for itself: it switches the interpreter on where there is no GPU."""
    before = os.environ.get("TRITON_INTERPRET")
    yield
    if before is None:
        os.environ.pop("TRITON_INTERPRET", None)
    else:
        os.environ["TRITON_INTERPRET"] = before


def _storage(numel: int, dtype: str = "float32", rule: ValueRule = UNIFORM) -> StorageSpec:
    return StorageSpec(dtype=dtype, numel=numel, rule=rule)


def _tensor(
    *shape: int, storage: int = 0, stride: tuple[int, ...] | None = None, offset: int = 0
) -> TensorSpec:
    if stride is None:
        stride = tuple(math.prod(shape[index + 1 :]) for index in range(len(shape)))
    return TensorSpec(storage=storage, shape=shape, stride=stride, offset=offset)


def _case(name: str, args: tuple[Value, ...], storages: tuple[StorageSpec, ...], **kwargs: Value) -> Case:
    operator = OperatorName.parse(name)
    return make_case(
        operator, args, tuple(kwargs.items()), storages, dtype=storages[0].dtype, origin="direct"
    )


def _source(*cases: Case, kind: str = "value") -> str:
    operator = cases[0].operator
    assert isinstance(operator, OperatorName)
    return write_test_source(operator, kind, cases, TOLERANCE)


def _module(source: str, folder: Path) -> ModuleType:
    path = folder / f"case_test_{next(COUNTER)}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _judge(case: Case, kernel: Callable[..., Any], folder: Path, *, kind: str = "value") -> str:
    """Return ``PASS``, ``SKIP: why`` or the reason of the failure."""
    module = _module(_source(case, kind=kind), folder)
    try:
        return str(module.run_case(kernel, module.CASES[0], "cpu"))
    except module.MismatchError as mismatch:
        return str(mismatch)


ADD = _case("add.Tensor", (_tensor(4, 3), _tensor(3, storage=1)), (_storage(12), _storage(3)), alpha=2)
RELU_ = _case("relu_.default", (_tensor(3, 2, stride=(1, 4), offset=1),), (_storage(12),))
OUT = _case("add.out", (_tensor(4), 2), (_storage(4), _storage(4)), out=_tensor(4, storage=1))
VIEW = _case("t.default", (_tensor(2, 3),), (_storage(6),))
SUM = _case("sum.default", (_tensor(1000),), (_storage(1000),))
EMPTY = _case("relu.default", (_tensor(0, 3),), (_storage(0),))
SPECIAL = _case(
    "relu.default",
    (_tensor(5),),
    (_storage(5, rule=LiteralValues(data=struct.pack("<5f", math.nan, math.inf, -math.inf, -0.0, 1.0))),),
)
INDEX = _case(
    "index_select.default",
    (_tensor(5, 2), 0, _tensor(3, storage=1)),
    (_storage(10), _storage(3, "int64", IntegerValues(low=0, high=4))),
)
HALF = _case("mul.Tensor", (_tensor(8), 3), (_storage(8, "float16"),))
COMPLEX = _case("mul.Tensor", (_tensor(8), 3), (_storage(8, "complex64"),))
BOOL = _case("logical_not.default", (_tensor(8),), (_storage(8, "bool", IntegerValues(low=0, high=1)),))
ALIAS = _case("mul.Tensor", (_tensor(2, 2), _tensor(2, 2, stride=(1, 2))), (_storage(4),))
SPLIT = _case("split.Tensor", (_tensor(5), 2), (_storage(5),))
MADE = _case(
    "new_zeros.default", (_tensor(5), (2, 3)), (_storage(5),), device=SymbolSpec(kind="device", name="target")
)
CAST = _case(
    "_to_copy.default", (_tensor(5),), (_storage(5),), dtype=SymbolSpec(kind="dtype", name="float16")
)
SCALAR = _case("_local_scalar_dense.default", (_tensor(),), (_storage(1),))
ALL = (ADD, RELU_, OUT, VIEW, SUM, SPECIAL, INDEX, HALF, COMPLEX, BOOL, ALIAS, SPLIT, MADE, CAST, SCALAR)


@pytest.mark.parametrize("case", ALL, ids=lambda case: str(case.operator))
def test_the_operator_itself_passes(case: Case, tmp_path: Path) -> None:
    """Eager PyTorch passes its own cases."""
    assert isinstance(case.operator, OperatorName)
    operator = getattr(getattr(torch.ops.aten, case.operator.base), case.operator.overload)
    assert "PASS" == _judge(case, operator, tmp_path)


def test_a_case_without_elements_is_skipped(tmp_path: Path) -> None:
    """No elements, nothing proven; a wrong shape still fails."""
    assert _judge(EMPTY, torch.relu, tmp_path).startswith("SKIP")
    assert "shape is (3,)" in _judge(EMPTY, lambda _: torch.empty(3), tmp_path)


def _copy_in_place(tensor: Any) -> Any:
    return tensor.relu_().view(tensor.shape)


@pytest.mark.parametrize(
    ("case", "kernel", "reason"),
    [
        (ADD, lambda a, b, **_: a + b, "elements wrong, the first at [0, 0]"),
        (ADD, lambda a, b, *, alpha: (a + alpha * b).double(), "dtype is torch.float64"),
        (ADD, lambda a, b, *, alpha: (a + alpha * b).flatten(), "shape is (12,)"),
        (ADD, lambda a, b, *, alpha: torch.nn.Parameter(a + alpha * b), "got Parameter"),
        (ADD, lambda a, b, *, alpha: a.add_(b, alpha=alpha), "must not share memory"),
        (ADD, lambda a, b, *, alpha: a.add_(b, alpha=alpha).clone(), "must not be"),
        (ADD, lambda a, b: a + b, "the kernel raises TypeError"),
        (ADD, lambda *_, **__: None, "got NoneType"),
        (RELU_, torch.relu, "must be argument 0 itself"),
        (RELU_, _copy_in_place, "must be argument 0 itself"),
        (RELU_, lambda a: a, "elements wrong"),
        (OUT, lambda a, b, **_: a + b, "must be argument 1 itself"),
        (OUT, lambda *_, out: out, "elements wrong"),
        (VIEW, lambda a: a.t().clone(), "must share memory"),
        (SUM, lambda a: a.sum() + 0.5, "elements wrong"),
        (SPECIAL, lambda a: torch.where(a > 0, a, 0.0), "first at [0]: got 0.0, expected nan"),
        (SPECIAL, lambda a: torch.relu(a).clamp(max=3e38), "first at [1]"),
        (INDEX, lambda a, *_: a[:3].clone(), "elements wrong"),
        (HALF, lambda a, _: (a.float() * 3.02).half(), "elements wrong"),
        (COMPLEX, lambda a, b: (a * b).conj().resolve_conj(), "elements wrong"),
        (BOOL, lambda a: a.clone(), "elements wrong"),
        (SPLIT, lambda a, size: a.split(size)[:2], "expected 3 values"),
        (CAST, lambda a, **_: a.clone(), "dtype is torch.float32"),
        (SCALAR, lambda a: a.clone(), "got tensor"),
    ],
)
def test_wrong_kernels_fail(case: Case, kernel: Callable[..., Any], reason: str, tmp_path: Path) -> None:
    """Each kind of fault is found and named."""
    assert reason in _judge(case, kernel, tmp_path)


def test_random_results_are_judged_by_metadata(tmp_path: Path) -> None:
    """Values of an operator without defined values do not matter; its dtype does."""
    case = _case("rand_like.default", (_tensor(4),), (_storage(4),))
    assert "PASS" == _judge(case, torch.zeros_like, tmp_path, kind="random")
    assert "dtype" in _judge(case, lambda a: a.double(), tmp_path, kind="random")


def test_a_case_that_eager_refuses_is_skipped(tmp_path: Path) -> None:
    """A case on which PyTorch raises says nothing about the kernel."""
    case = _case("relu.default", (_tensor(4),), (_storage(4, "bool", IntegerValues(low=0, high=1)),))
    assert _judge(case, lambda a: a, tmp_path).startswith("SKIP: eager PyTorch itself raises")


def test_a_case_on_which_eager_is_unstable_is_skipped(tmp_path: Path) -> None:
    """A case on which PyTorch differs from itself says nothing about the kernel."""
    case = _case("rand_like.default", (_tensor(4),), (_storage(4),))
    assert _judge(case, torch.rand_like, tmp_path).startswith("SKIP: eager PyTorch differs from itself")


def test_tensors_are_rebuilt_as_specified(tmp_path: Path) -> None:
    """Strides, offset, aliasing, literal and drawn values are those of the specification."""
    seen: list[Any] = []

    def look(*args: Any) -> Any:
        seen.extend(args)
        return torch.mul(*args)

    def look_only(*args: Any) -> Any:
        seen.extend(args)
        return torch.zeros(3, 2)

    assert "PASS" == _judge(ALIAS, look, tmp_path)
    assert [(2, 1), (1, 2)] == [tensor.stride() for tensor in seen]
    assert seen[0].data_ptr() == seen[1].data_ptr()
    seen.clear()
    assert "elements wrong" in _judge(INDEX, look_only, tmp_path)
    assert 0 <= int(seen[2].min()) <= int(seen[2].max()) <= 4
    assert bool((seen[0].abs() <= 9).all())


RULES: st.SearchStrategy[tuple[str, ValueRule]] = st.one_of(
    st.tuples(
        st.sampled_from(["float64", "float32", "float16", "bfloat16", "complex64", "complex128"]),
        st.tuples(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4)).map(
            lambda ends: UniformValues(low=min(ends), high=max(ends))
        ),
    ),
    st.tuples(
        st.just("int64"),
        st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)).map(
            lambda ends: IntegerValues(low=min(ends), high=max(ends))
        ),
    ),
    st.tuples(
        st.sampled_from(["uint8", "float64", "int32"]),
        st.binary(min_size=24, max_size=24).map(lambda data: LiteralValues(data=data)),
    ),
)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Return a test file as a module."""
    return _module(_source(ADD), tmp_path_factory.mktemp("runner"))


@settings(deadline=None, max_examples=60)
@given(chosen=RULES, seed=st.integers(0, 2**48 - 1))
def test_values_keep_their_rule(runner: ModuleType, chosen: tuple[str, ValueRule], seed: int) -> None:
    """Drawn elements lie in their range (rounding aside), literal ones are the given bytes."""
    dtype, rule = chosen
    numel = 3 * 8 // torch.empty(0, dtype=getattr(torch, dtype)).element_size()
    case = _case("relu.default", (_tensor(numel),), (_storage(numel, dtype, rule),))
    namespace = {
        name: getattr(runner, name) for name in ("Case", "Storage", "Uniform", "Integers", "Literal", "T")
    }
    text = _source(case).partition("CASES: tuple[Case, ...] = ")[2].partition("\n# ---")[0]
    (rebuilt,) = eval(text, namespace)  # noqa: S307 - our own text
    flat = runner.make_storage(rebuilt.storages[0], torch.Generator().manual_seed(seed), "cpu")
    assert (numel, getattr(torch, dtype)) == (flat.numel(), flat.dtype)
    if isinstance(rule, LiteralValues):
        assert rule.data == bytes(flat.view(torch.uint8).tolist())
    elif isinstance(rule, IntegerValues):
        assert all(rule.low <= value <= rule.high for value in flat.tolist())
    else:
        parts = torch.view_as_real(flat) if flat.dtype.is_complex else flat
        ends = torch.tensor([rule.low, rule.high], dtype=torch.float64).to(parts.dtype)
        assert bool(((parts >= ends[0]) & (parts <= ends[1])).all())


VALUES: st.SearchStrategy[Value] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.complex_numbers()
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@settings(deadline=None, max_examples=100)
@given(value=VALUES)
def test_arguments_are_written_exactly(value: Value) -> None:
    """What stands in the file evaluates to the argument, NaN, infinities and signed zeros included."""
    case = _case("relu.default", (value,), (_storage(1),))
    text = _source(case).partition("CASES: tuple[Case, ...] = ")[2].partition("\n# ---")[0]
    names = {name: lambda *parts: parts for name in ("Case", "Storage", "Uniform", "T")}
    ((_, _, _, args, _),) = eval(text, names)  # noqa: S307 - our own text
    assert repr((_listed(value),)) == repr(args)


def _listed(value: Value) -> Any:
    """Return an argument with lists for tuples, as the operator gets it."""
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _run(folder: Path, kernel: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    if kernel is not None:
        environment["KERNEL_FILE"] = kernel
    return subprocess.run(
        [sys.executable, "test_add__Tensor.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


BAD = "def add__Tensor_kernel_impl(self, other, *, alpha=1):\n    return self + other\n"
WHOLE = _case("add.Tensor", (_tensor(2), 1), (_storage(2, "int64", IntegerValues(low=0, high=9)),))


def test_as_a_script(tmp_path: Path) -> None:
    """The file runs alone with the interpreter switched on: one line a case, and an exit code."""
    (tmp_path / "test_add__Tensor.py").write_text(_source(ADD, WHOLE))
    good = "import torch\nadd__Tensor_kernel_impl = torch.ops.aten.add.Tensor\n"
    if not torch.cuda.is_available():
        good += "import os\nassert os.environ['TRITON_INTERPRET'] == '1'\n"
    (tmp_path / "add__Tensor_implementation.py").write_text(good)
    (tmp_path / "bad.py").write_text(BAD)
    passed = _run(tmp_path)
    assert (0, "") == (passed.returncode, passed.stderr)
    assert [f"PASS {ADD.id}", f"PASS {WHOLE.id}"] == [line[:17] for line in passed.stdout.splitlines()[:2]]
    failed = _run(tmp_path, kernel="bad.py")
    assert 1 == failed.returncode
    assert [f"FAIL {ADD.id}", f"PASS {WHOLE.id}"] == [line[:17] for line in failed.stdout.splitlines()[:2]]
    assert not (tmp_path / "__pycache__").exists()


def test_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel is given by path, single cases by id; a kernel that cannot be loaded has its own exit code."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = _module(_source(ADD, WHOLE), tmp_path)
    (tmp_path / "bad.py").write_text(BAD)
    assert 2 == module.main([str(tmp_path / "none.py")])
    assert 1 == module.main([str(tmp_path / "bad.py")])
    capsys.readouterr()
    assert 0 == module.main([str(tmp_path / "bad.py"), "--case", WHOLE.id])
    assert ["PASS", "1 PASS, 0 FAIL, 0 SKIP"] == [
        line if line[0].isdigit() else line[:4] for line in capsys.readouterr().out.splitlines()
    ]


def test_file_stands_alone() -> None:
    """The file imports nothing of this package and holds no lint notes."""
    source = _source(*ALL[:1])
    assert "kagent_bench" not in source
    assert "noqa" not in source
    compile(source, "test_file", "exec")
