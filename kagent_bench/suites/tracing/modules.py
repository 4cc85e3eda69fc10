"""The modules of a model: which one runs, and other tensors in the place of their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_OUTSIDE = "Global"
"""What torch's tracker calls the place outside of all modules."""


def innermost(parents: Collection[str]) -> str:
    """Return the module that runs, without the class of the outermost one.

    Args:
        parents: the modules that are entered, as ``torch.utils.module_tracker`` names them.
    """
    # In a backward, torch's tracker may hold several that do not contain each other; the choice must not be by chance.
    deepest = max(
        (name for name in parents if name != _OUTSIDE), key=lambda name: (len(name), name), default=""
    )
    root, _, inner = deepest.partition(".")
    return inner or root


def replace_tensors(model: torch.nn.Module, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Put what ``change`` makes of them in the place of parameters and buffers; shared ones stay shared.

    ``Module.to`` changes parameters in place, which tensors without memory do not allow.
    """
    made: dict[int, torch.Tensor] = {}
    kept = []  # so that no identity is given twice
    for module in model.modules():
        named: list[tuple[str, torch.Tensor]] = [
            *module.named_parameters(recurse=False, remove_duplicate=False),
            *module.named_buffers(recurse=False, remove_duplicate=False),
        ]
        for name, tensor in named:
            if id(tensor) not in made:
                kept.append(tensor)
                changed = change(tensor.detach())
                is_parameter = isinstance(tensor, torch.nn.Parameter)
                made[id(tensor)] = (
                    torch.nn.Parameter(changed, tensor.requires_grad) if is_parameter else changed
                )
            setattr(module, name, made[id(tensor)])


def without_memory(build: Callable[[], Any]) -> Any:
    """Build a model on torch's ``meta`` device, then give it tensors of the current mode, of no particular values.

    Initialisation that looks at values, which a mode without memory refuses, is no hindrance there.
    """
    with unset_fake_temporarily(), torch.device("meta"):
        model = build()
    replace_tensors(model, _on_the_cpu)
    return model


def _on_the_cpu(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.device.type != "meta":
        return tensor
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
