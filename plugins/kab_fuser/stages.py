"""What one run of the pipeline leaves beside the kernel: the regions, the schema file, the reasons, the composition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kab_fuser.library import computes
from kab_fuser.subgraphs import subgraphs_text
from kagent_bench.model.program import GET_ITEM, NodeRef
from kagent_bench.stores.atomic import write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kab_fuser.lower import Lowered
    from kab_fuser.partition import Partition
    from kab_fuser.signature import Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A module cut into regions, all of which have a kernel."""

    lowered: Lowered
    partition: Partition
    signatures: tuple[Signature, ...]
    sources: tuple[str, ...]
    eager: Mapping[str, str]
    """The module's calls that stay with the library, each with the reason."""

    def names(self) -> dict[int, str]:
        """Return what each region's function is called: one name for one signature."""
        known: dict[str, str] = {}
        for region, signature in zip(self.partition.regions, self.signatures, strict=True):
            words = [
                node.operator.split(".")[1].strip("_") for node in region.calls if node.operator != GET_ITEM
            ]
            about = "_".join(dict.fromkeys(words))[:40].strip("_")
            known.setdefault(signature.name, f"region_{len(known) + 1}_{about}")
        return {index: known[signature.name] for index, signature in enumerate(self.signatures)}


def write_stages(folder: Path, cut: Cut, notes: Sequence[str], text: str) -> None:
    """Write the stages into a folder.

    Args:
        folder: where.
        cut: the regions.
        notes: what was decided before the module was cut.
        text: the composed file.
    """
    (folder / "regions").mkdir(parents=True, exist_ok=True)
    regions = list(zip(cut.partition.regions, cut.signatures, strict=True))
    write_text(folder / "subgraphs.json", subgraphs_text(cut.lowered.program, regions, roots_of(cut.lowered)))
    for signature, source in zip(cut.signatures, cut.sources, strict=True):
        write_text(folder / "regions" / f"{signature.name}.py", source)
    lines = [*notes, *cut.partition.decisions]
    lines += [f"{name} stays with the library: {why}" for name, why in sorted(cut.eager.items())]
    write_text(folder / "explain.txt", "\n".join(lines) + "\n")
    write_text(folder / "composed_kernel.py", text)


def roots_of(lowered: Lowered) -> dict[str, str]:
    """Return for each value that is a plain view of an argument or weight, what it is a view of."""
    own = {item.name for item in (*lowered.program.inputs, *lowered.program.state)}
    roots: dict[str, str] = {}
    for node in lowered.program.nodes:
        source = node.args[0] if node.args else None
        if isinstance(source, NodeRef) and not computes(node.operator) and node.operator != GET_ITEM:
            root = roots.get(source.name, source.name)
            if root in own:
                roots[node.name] = root
    return roots
