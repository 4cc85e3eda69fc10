"""What the helpers are told of a module: its program for the oracle, its class's arguments for the candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kagent_bench.model.eager_manifest import declared_eager
from kagent_bench.model.identity import encode_value
from kagent_bench.model.program_json import encode_program

if TYPE_CHECKING:
    from kagent_bench.model.program import InitValue, Module


def for_oracle(module: Module | None, source: bytes) -> dict[str, Any]:
    """Return the oracle's part: the program, and what the kernel declares to leave to the library."""
    if module is None:
        return {}
    return {"program": encode_program(module.program), "declared": list(declared_eager(source))}


def for_candidate(module: Module | None) -> dict[str, Any] | None:
    """Return the candidate's part, see ``candidate.module_entry``; it never sees the program."""
    if module is None:
        return None
    return {
        "init": None if module.init is None else [_plain(value) for value in module.init],
        "init_kwargs": {name: _plain(value) for name, value in module.init_kwargs},
        "state": {item.name: list(item.paths) for item in module.program.state},
    }


def _plain(value: InitValue) -> Any:
    return encode_value(value)
