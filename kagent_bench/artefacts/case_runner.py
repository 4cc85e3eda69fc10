"""The operator's development cases as a self-contained test.

Usage:

    python TEST_FILE [--case ID ...] [KERNEL_FILE]

``KERNEL_FILE`` defaults to the environment variable of that name, else to the kernel beside this file. One line
is printed for each case: PASS, FAIL with the reason, or SKIP where nothing can be decided. The exit code is
0 if no case failed, 1 if one did, 2 if the kernel cannot be loaded.

Each case rebuilds its tensors with their strides, offsets and aliasing, calls the kernel, and compares with eager
PyTorch: number, type, shape and dtype of the results, aliasing and in-place changes, the places of NaN and
infinities, then the values. The evaluator is stricter than this file: it also judges other cases and other
values, compares each element with a float64 reference, and watches who does the computing.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import importlib.util
import os
import sys
import warnings
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch


class Literal(NamedTuple):
    """Exactly these elements: compressed little-endian bytes."""

    data: str


class Uniform(NamedTuple):
    """Floating-point elements drawn from [low, high)."""

    low: float
    high: float


class Integers(NamedTuple):
    """Integers drawn from low .. high, both included."""

    low: int
    high: int


class Storage(NamedTuple):
    """A flat run of elements that one or more tensors look at."""

    dtype: str
    numel: int
    values: Literal | Uniform | Integers


class T(NamedTuple):
    """A strided view of a storage, given by its index; offset and strides count elements."""

    storage: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0


class Symbol(NamedTuple):
    """A torch constant: a dtype, layout, memory format, or the device under test."""

    kind: str
    name: str


class Computation(NamedTuple):
    """What an operator makes of the drawn values, and the view that receives it."""

    operator: tuple[str, str]
    args: tuple[Any, ...]
    output: int
    target: T


class Case(NamedTuple):
    """One call of the operator."""

    id: str
    call: str
    storages: tuple[Storage, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    computed: tuple[Computation, ...] = ()


# --- the operator ---
OPERATOR = ("relu", "default")
FUNCTION = "relu__default_kernel_impl"
KERNEL_NAME = "relu__default_implementation.py"
COMPARE_VALUES = True
TOLERANCE: dict[str, float] = {}
CASES: tuple[Case, ...] = ()
# --- the cases end ---

PARTS = {"complex64": "float32", "complex128": "float64", "complex32": "float16"}
"""The dtype of the parts of a complex dtype, whose tolerance applies."""
EAGER_ERRORS = (RuntimeError, ValueError, TypeError, IndexError)
"""What eager PyTorch raises on arguments that it does not take."""


class MismatchError(Exception):
    """The kernel did something else than eager PyTorch; the text says what."""


def find_device() -> str:
    """Return the accelerator, or ``cpu`` with Triton's interpreter switched on before triton is imported."""
    if torch.cuda.is_available():
        return "cuda"
    if hasattr(torch, "xpu") and torch.xpu.is_available():
        return "xpu"
    os.environ["TRITON_INTERPRET"] = "1"
    return "cpu"


def load_kernel(path: Path) -> Callable[..., Any]:
    """Import a kernel file and return its function."""
    spec = importlib.util.spec_from_file_location("kernel_under_test", path)
    if spec is None or spec.loader is None:
        message = f"{path} is not a Python file"
        raise ImportError(message)
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernel_under_test"] = module
    spec.loader.exec_module(module)
    function: Callable[..., Any] = getattr(module, FUNCTION)
    return function


def make_storage(storage: Storage, generator: torch.Generator, device: str) -> torch.Tensor:
    """Return the flat tensor of a storage."""
    dtype = getattr(torch, storage.dtype)
    rule = storage.values
    if storage.numel == 0:
        return torch.empty(0, dtype=dtype, device=device)
    if isinstance(rule, Literal):
        data = bytearray(zlib.decompress(base64.b64decode(rule.data)))
        return torch.frombuffer(data, dtype=dtype).to(device, copy=True)
    if isinstance(rule, Integers):
        size = rule.high - rule.low + 1
        halves = torch.randint(0, 2**32, (storage.numel, 2), generator=generator).tolist()
        whole = [rule.low + (high * 2**32 + low) % size for high, low in halves]
        return torch.tensor(whole, dtype=dtype).to(device)
    width = 2 if dtype.is_complex else 1
    parts = torch.rand((storage.numel, width), generator=generator, dtype=torch.float64)
    parts = parts * (rule.high - rule.low) + rule.low
    flat = torch.view_as_complex(parts) if dtype.is_complex else parts[:, 0]
    return flat.to(dtype).to(device)


def compute(item: Computation, storages: Sequence[torch.Tensor], device: str) -> None:
    """Let an operator compute values, in place, from floats of at least 32 bits."""
    halves = (torch.float16, torch.bfloat16)
    raised = [flat.float() if flat.dtype in halves else flat for flat in storages]
    base, overload = item.operator
    operator = getattr(getattr(torch.ops.aten, base), overload)
    made = leaves(operator(*(build(value, raised, device) for value in item.args)))[item.output]
    target = build(item.target, storages, device)
    if target.numel():
        target.copy_(made.reshape(target.shape))


def build(value: Any, storages: Sequence[torch.Tensor], device: str) -> Any:
    """Return the argument that a specification stands for."""
    if isinstance(value, T):
        return storages[value.storage].as_strided(value.shape, value.stride, value.offset)
    if isinstance(value, Symbol):
        if value.kind == "device":
            return torch.device(device if value.name == "target" else value.name)
        return getattr(torch, value.name)
    if isinstance(value, list):
        return [build(item, storages, device) for item in value]
    return value


def leaves(value: Any) -> list[torch.Tensor]:
    """Return the tensors in an argument or result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in leaves(item)]
    return []


def memory(tensor: torch.Tensor) -> int:
    """Return the address of a tensor's storage; 0 for an empty one, which shares nothing."""
    return tensor.untyped_storage().data_ptr() if tensor.numel() else 0


def identities(result: Any, arguments: Any) -> list[tuple[int, int]]:
    """Return for each result which argument it is, and which argument's memory it shares; -1 for none."""
    given = leaves(arguments)
    places = [memory(tensor) for tensor in given]
    found = []
    for tensor in leaves(result):
        same = next((index for index, other in enumerate(given) if other is tensor), -1)
        place = memory(tensor)
        found.append((same, places.index(place) if place and place in places else -1))
    return found


def name_of(dtype: torch.dtype) -> str:
    """Return torch's name of a dtype, without the module."""
    return str(dtype).removeprefix("torch.")


def largest(tensors: Sequence[torch.Tensor]) -> float:
    """Return the largest finite magnitude in some tensors, 0 if there is none."""
    best = 0.0
    for tensor in tensors:
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
            magnitude = tensor.detach().to("cpu").to(torch.complex128).abs()
            magnitude = magnitude[torch.isfinite(magnitude)]
            best = max(best, float(magnitude.max()) if magnitude.numel() else 0.0)
    return best


def absolute(flat: torch.Tensor) -> torch.Tensor:
    """Return the magnitudes of a storage in double precision; other dtypes stay as they are."""
    if flat.dtype.is_complex:
        return flat.to(torch.complex128).abs().to(torch.complex128)
    return flat.double().abs() if flat.dtype.is_floating_point else flat.clone()


def magnitude_of(case: Case, storages: Sequence[torch.Tensor], expected: Any, device: str) -> float:
    """Return the magnitude that rounding errors of this case go with, at least 1.

    That is the largest result, or where results have fewer elements than arguments (sums, products) the
    largest result of the same call on absolute values: the terms that were added up, without cancellation.
    """
    best = max(1.0, largest(leaves(expected)))
    fewest = min((tensor.numel() for tensor in leaves(expected)), default=0)
    most = max((tensor.numel() for tensor in leaves(build(list(case.args), storages, device))), default=0)
    if fewest < most:
        positive = [absolute(flat) for flat in storages]
        args, kwargs = arguments_of(case, positive, device)
        with contextlib.suppress(*EAGER_ERRORS):  # not every operator takes positive or double arguments
            best = max(best, largest(leaves(reference()(*args, **kwargs))))
    return best


def compare(label: str, got: torch.Tensor, expected: torch.Tensor, magnitude: float) -> None:
    """Compare two tensors of one shape and dtype: non-finite places first, then the values."""
    got, expected = got.detach().to("cpu"), expected.detach().to("cpu")
    name = name_of(expected.dtype)
    if expected.dtype.is_complex:
        got, expected = torch.view_as_real(got.resolve_conj()), torch.view_as_real(expected.resolve_conj())
    if not expected.dtype.is_floating_point:
        wrong = got != expected
    else:
        factor = TOLERANCE.get(name, TOLERANCE.get(PARTS.get(name, name), 0.0))
        got, expected = got.double(), expected.double()
        bound = factor * expected.abs() + factor * magnitude
        finite = torch.isfinite(expected)
        close = (got - expected).abs() <= bound
        same = (got == expected) | (got.isnan() & expected.isnan())
        wrong = ~torch.where(finite, close, same)
    if bool(wrong.any()):
        index = tuple(int(place) for place in wrong.nonzero()[0])
        message = (
            f"{label}: {int(wrong.sum())} of {wrong.numel()} elements wrong, the first at {list(index)}: "
            f"got {got[index].item()!r}, expected {expected[index].item()!r}"
        )
        raise MismatchError(message)


def compare_results(got: Any, expected: Any, magnitude: float, label: str = "result") -> None:
    """Compare two results: structure, types, metadata, values."""
    if isinstance(expected, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(expected):
            message = f"{label}: expected {len(expected)} values, got {type(got).__name__}"
            raise MismatchError(message)
        for index, (ours, theirs) in enumerate(zip(got, expected)):  # noqa: B905 - of one length
            compare_results(ours, theirs, magnitude, f"{label}[{index}]")
    elif isinstance(expected, torch.Tensor):
        check_metadata(got, expected, label)
        if COMPARE_VALUES:
            compare(label, got, expected, magnitude)
    elif type(got) is not type(expected):
        message = f"{label}: expected {expected!r}, got {got!r}"
        raise MismatchError(message)
    elif expected is not None and COMPARE_VALUES:
        compare(label, torch.tensor(got), torch.tensor(expected), magnitude)


def check_metadata(got: Any, expected: torch.Tensor, label: str) -> None:
    """Compare type, shape, dtype and device of a result."""
    if type(got) is not torch.Tensor:
        message = f"{label}: expected a torch.Tensor, got {type(got).__name__}"
        raise MismatchError(message)
    for what, ours, theirs in (
        ("shape", tuple(got.shape), tuple(expected.shape)),
        ("dtype", got.dtype, expected.dtype),
        ("device", got.device.type, expected.device.type),
    ):
        if ours != theirs:
            message = f"{label}: {what} is {ours}, expected {theirs}"
            raise MismatchError(message)


def reference() -> Callable[..., Any]:
    """Return the operator itself."""
    operator: Callable[..., Any] = getattr(getattr(torch.ops.aten, OPERATOR[0]), OPERATOR[1])
    return operator


def arguments_of(
    case: Case, storages: Sequence[torch.Tensor], device: str
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a case over these storages."""
    args = [build(value, storages, device) for value in case.args]
    return args, {name: build(value, storages, device) for name, value in case.kwargs.items()}


def run_case(kernel: Callable[..., Any], case: Case, device: str) -> str:
    """Judge one case.

    Returns:
        ``PASS``, or ``SKIP: `` and why nothing can be said.

    Raises:
        MismatchError: the kernel is wrong on this case.
    """
    generator = torch.Generator().manual_seed(int(case.id, 16))
    before = [make_storage(storage, generator, device) for storage in case.storages]
    for item in case.computed:
        compute(item, before, device)
    theirs, again, ours = ([flat.clone() for flat in before] for _ in range(3))
    args, kwargs = arguments_of(case, theirs, device)
    repeated_args, repeated_kwargs = arguments_of(case, again, device)
    magnitude = 1.0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = reference()(*args, **kwargs)
            repeated = reference()(*repeated_args, **repeated_kwargs)
            magnitude = magnitude_of(case, before, expected, device)
            compare_results(repeated, expected, magnitude)
    except EAGER_ERRORS as error:
        return f"SKIP: eager PyTorch itself raises {type(error).__name__}: {first_line(error)}"
    except MismatchError as mismatch:
        return f"SKIP: eager PyTorch differs from itself: {mismatch}"
    expected_identities = identities(expected, [args, list(kwargs.values())])
    args, kwargs = arguments_of(case, ours, device)
    given = [args, list(kwargs.values())]
    try:
        got = kernel(*args, **kwargs)
    except Exception as error:
        message = f"the kernel raises {type(error).__name__}: {first_line(error)}"
        raise MismatchError(message) from error
    compare_results(got, expected, magnitude)
    check_identities(identities(got, given), expected_identities)
    check_arguments(before, ours, theirs, magnitude)
    return "PASS" if case_says_something(expected) else "SKIP: no elements to compare"


def case_says_something(expected: Any) -> bool:
    """Return whether there is anything to compare, or metadata is all that is asked."""
    tensors = leaves(expected)
    return not COMPARE_VALUES or not tensors or any(tensor.numel() for tensor in tensors)


def check_identities(got: Sequence[tuple[int, int]], expected: Sequence[tuple[int, int]]) -> None:
    """Compare which arguments the results are, or share memory with."""
    for index, (ours, theirs) in enumerate(zip(got, expected)):  # noqa: B905 - of one length by now
        if theirs[0] >= 0 and ours[0] != theirs[0]:
            message = f"result {index} must be argument {theirs[0]} itself, not a copy or a view"
            raise MismatchError(message)
        if (theirs[1] >= 0) != (ours[1] >= 0):
            message = f"result {index} must {'' if theirs[1] >= 0 else 'not '}share memory with an argument"
            raise MismatchError(message)


def check_arguments(
    before: Sequence[torch.Tensor],
    ours: Sequence[torch.Tensor],
    theirs: Sequence[torch.Tensor],
    magnitude: float,
) -> None:
    """Compare what is in the arguments' memory after the call with what eager PyTorch left there."""
    for index, (start, got, expected) in enumerate(zip(before, ours, theirs)):  # noqa: B905 - of one length
        if torch.equal(raw(start), raw(expected)):
            if not torch.equal(raw(start), raw(got)):
                message = f"storage {index} of the arguments was changed, and must not be"
                raise MismatchError(message)
        elif COMPARE_VALUES:
            compare(f"changed argument (storage {index})", got, expected, magnitude)


def raw(flat: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a flat tensor."""
    return flat.view(torch.uint8) if flat.numel() else torch.empty(0, dtype=torch.uint8)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text."""
    return (str(error).splitlines() or [""])[0]


def undecided(case: Case, device: str) -> bool:
    """Return whether a failure may be the interpreter's: it computes bfloat16 on raw bit patterns."""
    return device == "cpu" and any(storage.dtype == "bfloat16" for storage in case.storages)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen cases and return the exit code."""
    parser = argparse.ArgumentParser(description=f"Development cases of aten.{'.'.join(OPERATOR)}")
    parser.add_argument("kernel", nargs="?", type=Path, metavar="KERNEL_FILE")
    parser.add_argument("--case", action="append", metavar="ID", help="run only this case; may be repeated")
    options = parser.parse_args(arguments)
    default = os.environ.get("KERNEL_FILE") or Path(__file__).with_name(KERNEL_NAME)
    path = options.kernel or Path(default)
    device = find_device()
    sys.dont_write_bytecode = True
    try:
        kernel = load_kernel(path)
    except Exception as error:  # noqa: BLE001 - whatever a kernel file raises
        print(f"FAIL: {path} cannot be loaded: {type(error).__name__}: {first_line(error)}")  # noqa: T201 - a script
        return 2
    chosen = [case for case in CASES if not options.case or case.id in options.case]
    counts = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    for case in chosen:
        try:
            outcome = run_case(kernel, case, device)
        except MismatchError as mismatch:
            outcome = f"FAIL: {mismatch}"
            if undecided(case, device):
                outcome = f"SKIP: bfloat16 cannot be judged in Triton's interpreter ({mismatch})"
        counts[outcome[:4]] += 1
        print(f"{outcome[:4]} {case.id} {case.call}{outcome[4:]}", flush=True)  # noqa: T201 - a script
    print(", ".join(f"{count} {name}" for name, count in counts.items()))  # noqa: T201 - a script
    return 1 if counts["FAIL"] else 0


def test_kernel() -> None:
    """Let pytest run the cases against the default kernel file."""
    assert main([]) == 0


if __name__ == "__main__":
    sys.exit(main())
