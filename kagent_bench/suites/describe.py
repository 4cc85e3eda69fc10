"""Writes what torch says of its operators: ``python -m kagent_bench.suites.describe FILE``, a throwaway process."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    """Write every ATen overload with its kind and its arguments into a new file.

    Args:
        arguments: the file.
    """
    import torch

    from kagent_bench.suites.recording.kinds import operator_kind

    found = []
    for schema in torch._C._jit_get_all_schemas():  # noqa: SLF001 - torch has no public list of its operators
        namespace, _, base = schema.name.partition("::")
        packet = getattr(torch.ops.aten, base, None) if namespace == "aten" else None
        operator = getattr(packet, schema.overload_name or "default", None)
        if isinstance(operator, torch._ops.OpOverload):  # noqa: SLF001 - the type's only name
            arguments_of = [
                [
                    item.name,
                    str(item.type),
                    item.kwarg_only,
                    item.alias_info is not None and item.alias_info.is_write,
                    item.has_default_value(),
                ]
                for item in schema.arguments
            ]
            found.append([base, schema.overload_name or "default", operator_kind(operator), arguments_of])
    Path(arguments[0]).write_text(json.dumps(sorted(found)))


if __name__ == "__main__":
    main(sys.argv[1:])
