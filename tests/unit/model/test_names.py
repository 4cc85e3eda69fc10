"""Operator names, folders and functions convert without loss."""

from __future__ import annotations

import pytest
import torch

from kagent_bench.model.names import OperatorName


def _every_overload() -> list[OperatorName]:
    schemas = [schema for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("aten::")]
    pairs = {(schema.name.removeprefix("aten::"), schema.overload_name or "default") for schema in schemas}
    return sorted(OperatorName(base, overload) for base, overload in pairs if "." not in base)


def test_every_overload_of_torch_has_a_folder_of_its_own() -> None:
    """Operator to folder and back is the identity for all of ATen, and no two share a folder."""
    names = _every_overload()
    assert 3000 < len(names)
    assert names == [OperatorName.from_folder(name.folder) for name in names]
    assert len(names) == len({name.folder for name in names})
    assert names == [OperatorName.parse(str(name)) for name in names]


def test_folders_stay_apart_where_case_does_not_count() -> None:
    """On a file system that ignores case, the operators of one suite still have folders of their own."""
    by_lower: dict[str, list[str]] = {}
    for name in _every_overload():
        by_lower.setdefault(name.folder.lower(), []).append(str(name))
    assert [] == [group for group in by_lower.values() if len(group) > 1 and not _told_apart(group)]


def _told_apart(group: list[str]) -> bool:
    """Return whether at most one of the operators is dispatched (the others are TorchScript's own)."""
    dispatched = [
        name for name in group if torch._C._dispatch_has_kernel(f"aten::{name}".replace(".default", ""))
    ]
    return len(dispatched) < 2


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("aten.add.Tensor", "add__Tensor"),
        ("aten::add_.Tensor", "add___Tensor"),
        (" relu ", "relu__default"),
        ("relu_", "relu___default"),
        ("_softmax.default", "_softmax__default"),
        ("__and__.Tensor", "__and____Tensor"),
        ("sum.dim_IntList", "sum__dim_IntList"),
    ],
)
def test_names_as_users_write_them(text: str, folder: str) -> None:
    """Every spelling leads to one folder, and the folder back to the name."""
    name = OperatorName.parse(text)
    assert folder == name.folder
    assert name == OperatorName.from_folder(folder)
    assert f"{folder}_kernel_impl" == name.kernel_function
    assert f"{folder}_implementation" == name.kernel_stem


@pytest.mark.parametrize("text", ["", ".", "a b", "../relu", "add.Tensor.out", "9lives"])
def test_what_is_no_name_is_refused(text: str) -> None:
    """No path and no nonsense becomes an operator."""
    with pytest.raises(ValueError, match="not an operator name"):
        OperatorName.parse(text)


def test_a_folder_without_separator_is_refused() -> None:
    """A stray folder is no operator."""
    with pytest.raises(ValueError, match="not an operator folder"):
        OperatorName.from_folder("attempts")
