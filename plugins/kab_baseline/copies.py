"""The copy frame: a host function over the copy kernels of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kab_baseline.assembly import assemble
from kab_baseline.library import HOST_TEXTS, kernels_used_by
from kab_baseline.pointwise import BLOCK

if TYPE_CHECKING:
    from kab_baseline.definitions.copies import Copy
    from kab_baseline.signature import Signature

SIZES = {"SCATTER_BLOCK": 128, "SCATTER_CHUNK": 32, "RANK_BLOCK": 128}
"""Elements of the result in a program that scatters, how many indices it looks at together, and elements of a program
that sorts."""


def write(definition: Copy, signature: Signature) -> str:
    """Return the kernel file of an overload."""
    body = "\n".join(definition.lines)
    kernels = kernels_used_by(body, HOST_TEXTS)
    return assemble(signature, definition.summary, kernels, body, constants={"BLOCK": BLOCK, **SIZES})
