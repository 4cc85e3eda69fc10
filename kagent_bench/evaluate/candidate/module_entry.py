"""A candidate for a module: its ``kernel_function``, or its class ``ModelNew`` with the module's weights put in.

The class is made once, with the problem's own arguments and seed, and gets parameters and buffers as they lie in the
arena before every call. What it derived from its own weights while it was made is its author's business: the
problem statement says that weights come later.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch

CLASS = "ModelNew"
"""Name of the class, as KernelBench has it."""
SEED = 0
"""Seed before the class is made, as before the module itself."""


class StateMismatch(Exception):
    """The class does not have the parameters and buffers of the module."""


def find_entry(module: Any, name: str, problem: Mapping[str, Any], device: str) -> Callable[..., Any] | None:
    """Return what is to be called, or None if the file defines neither.

    Args:
        module: the loaded kernel file.
        name: the function's name.
        problem: ``init`` and ``init_kwargs`` of the class (``init`` is None where they are no data), and ``state``:
            for each name in the program the qualified names in the module.
        device: torch's device string.

    Raises:
        Exception: whatever the class raises while it is made.
    """
    function = getattr(module, name, None)
    if callable(function):
        return _by_name(function)
    made = getattr(module, CLASS, None)
    if isinstance(made, type) and problem["init"] is not None:
        return _ClassCall(made, problem, device)
    return None


def _by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes weights by name, whatever names its author gave them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function
    names = {item.name for item in parameters}
    takes_any = any(item.kind is inspect.Parameter.VAR_KEYWORD for item in parameters)

    def call(*args: Any, **state: torch.Tensor) -> Any:
        if takes_any or state.keys() <= names:
            return function(*args, **state)
        return function(*args, *state.values())

    return call


class _ClassCall:
    """One instance of the class, called with fresh weights each time."""

    def __init__(self, made: type, problem: Mapping[str, Any], device: str) -> None:
        torch.manual_seed(SEED)
        with torch.device(device):
            model = made(*problem["init"], **problem["init_kwargs"])
        if not isinstance(model, torch.nn.Module):
            message = f"{CLASS} makes a {type(model).__name__}, not a torch.nn.Module"
            raise TypeError(message)
        self._model = model.eval().requires_grad_(requires_grad=False)
        self._places: Mapping[str, list[str]] = problem["state"]

    def __call__(self, *args: Any, **state: torch.Tensor) -> Any:
        for name, paths in self._match(state).items():
            for path in paths:
                self._put(path, state[name])
        return self._model(*args)

    def _match(self, state: Mapping[str, torch.Tensor]) -> dict[str, list[str]]:
        """Return where each weight goes: by name, and what is left in order where the shapes agree."""
        own = {
            name: value
            for name, value in (*self._model.named_parameters(), *self._model.named_buffers())
            if value is not None
        }
        places: dict[str, list[str]] = {}
        for name, paths in self._places.items():
            fitting = [path for path in paths if path in own and own[path].shape == state[name].shape]
            if fitting:
                places[name] = fitting
        taken = {path for paths in places.values() for path in paths}
        free = [name for name in own if name not in taken]
        for name in (name for name in self._places if name not in places):
            found = next(
                (
                    path
                    for path in free
                    if own[path].shape == state[name].shape and own[path].dtype == state[name].dtype
                ),
                None,
            )
            if found is None:
                shown = " or ".join(self._places[name])
                message = (
                    f"{CLASS} has no place for {shown} {tuple(state[name].shape)}; "
                    f"its own parameters and buffers are: {', '.join(own) or 'none'}"
                )
                raise StateMismatch(message)
            free.remove(found)
            places[name] = [found]
        return places

    def _put(self, path: str, value: torch.Tensor) -> None:
        owner_path, _, attribute = path.rpartition(".")
        owner = self._model.get_submodule(owner_path)
        if attribute in owner._parameters:  # noqa: SLF001 - setattr would refuse a tensor that is no Parameter
            owner._parameters[attribute] = torch.nn.Parameter(value, requires_grad=False)  # noqa: SLF001
        else:
            owner._buffers[attribute] = value  # noqa: SLF001 - the arena's memory itself, which may be written
