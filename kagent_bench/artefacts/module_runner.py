"""The module of this problem and a comparison of a kernel file with it, self-contained.

Usage:

    python TEST_FILE [KERNEL_FILE]

``KERNEL_FILE`` defaults to the kernel beside this file. PASS or FAIL is printed with the reason; the exit code is 0
or 1, and 2 if the kernel cannot be loaded. The evaluator is stricter than this file: it draws other values, of
weights too, compares with a float64 reference, and watches who does the computing.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

# --- the problem ---
PROBLEM = ""
KERNEL_NAME = ""
STATE: list[tuple[str, str]] = []
TOLERANCE = 1e-4
# --- the problem ends ---

SEED = 0


def find_device() -> str:
    """Return the accelerator, or ``cpu`` with Triton's interpreter switched on before triton is imported."""
    if torch.cuda.is_available():
        return "cuda"
    os.environ["TRITON_INTERPRET"] = "1"
    return "cpu"


def load_kernel(path: Path) -> Any:
    """Import a kernel file."""
    spec = importlib.util.spec_from_file_location("kernel_under_test", path)
    if spec is None or spec.loader is None:
        message = f"{path} is not a Python file"
        raise ImportError(message)
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernel_under_test"] = module
    spec.loader.exec_module(module)
    return module


def split(given: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return positional and keyword arguments of the class: a list, a dict, or a list of both as ``[[..], {..}]``."""
    if isinstance(given, Mapping):
        return [], dict(given)
    items = list(given)
    if len(items) == 2 and isinstance(items[0], list) and isinstance(items[1], Mapping):  # noqa: PLR2004
        return items[0], dict(items[1])
    return items, {}


def in_order(model: torch.nn.Module, given: Any) -> list[Any]:
    """Return a module's arguments by position: of a list, of a tensor alone, or of a dict by the parameters' names.

    Raises:
        TypeError: they do not fit the module, or must be named.
    """
    if isinstance(given, torch.Tensor):
        return [given]
    if not isinstance(given, Mapping):
        return list(given)
    bound = inspect.signature(model.forward).bind(**given)
    bound.apply_defaults()
    named = sorted(set(bound.kwargs) & set(given))
    if named:
        message = f"get_inputs gives {', '.join(named)}, which the module takes by name alone"
        raise TypeError(message)
    return list(bound.args)


def to_device(value: Any, device: str) -> Any:
    """Return an argument with its tensors on the device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    return [to_device(item, device) for item in value] if isinstance(value, (list, tuple)) else value


def leaves(value: Any) -> list[torch.Tensor]:
    """Return the tensors of a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (list, tuple)) else []


def results(kernel: Any, device: str) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return what the kernel and what the module gives for the same arguments and weights."""
    problem: dict[str, Any] = {"__name__": "problem"}
    torch.manual_seed(SEED)
    exec(compile(PROBLEM, "problem.py", "exec"), problem)
    init, init_kwargs = split(problem.get("get_init_inputs", list)())
    torch.manual_seed(SEED)
    model = problem["Model"](*init, **init_kwargs).eval().to(device)
    args = [to_device(value, device) for value in in_order(model, problem["get_inputs"]())]
    own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    with torch.no_grad():
        if hasattr(kernel, "kernel_function"):
            weights = {name: own[path].detach().clone() for name, path in STATE}
            got = kernel.kernel_function(*args, **weights)
        else:
            torch.manual_seed(SEED)
            other = kernel.ModelNew(*init, **init_kwargs).eval().to(device)
            other.load_state_dict(model.state_dict())
            got = other(*args)
        return leaves(got), leaves(model(*args))


def complaint(got: list[torch.Tensor], expected: list[torch.Tensor]) -> str:
    """Return what is wrong with the results, empty if nothing is."""
    if len(got) != len(expected):
        return f"{len(got)} results, expected {len(expected)}"
    for index, (ours, theirs) in enumerate(zip(got, expected)):  # noqa: B905 - of one length
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return f"result {index}: {tuple(ours.shape)} {ours.dtype}, expected {tuple(theirs.shape)} {theirs.dtype}"
        scale = max(1.0, float(theirs.double().abs().max()) if theirs.numel() else 0.0)
        if not torch.allclose(
            ours.double(), theirs.double(), rtol=TOLERANCE, atol=TOLERANCE * scale, equal_nan=True
        ):
            worst = float((ours.double() - theirs.double()).abs().max())
            return f"result {index}: values differ by up to {worst}"
    return ""


def main(arguments: list[str]) -> int:
    """Run the comparison; returns the exit code."""
    path = Path(arguments[0]) if arguments else Path(__file__).with_name(KERNEL_NAME)
    device = find_device()
    try:
        kernel = load_kernel(path)
    except Exception as error:  # noqa: BLE001 - whatever the file raises
        sys.stdout.write(f"cannot load {path}: {type(error).__name__}: {error}\n")
        return 2
    try:
        wrong = complaint(*results(kernel, device))
    except Exception as error:  # noqa: BLE001 - whatever the kernel raises
        wrong = f"the kernel raises {type(error).__name__}: {error}"
    sys.stdout.write(f"FAIL: {wrong}\n" if wrong else "PASS\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
