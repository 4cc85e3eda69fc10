"""Names of problems: an ATen overload or a module, with folder and function, converted without loss both ways."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

MODULE_OVERLOAD = "module"
"""What stands in a module's name where an operator has its overload; no ATen overload is called so."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODULE = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True, order=True)
class OperatorName:
    """An ATen operator overload, such as ``add.Tensor``."""

    base: str
    """Name without namespace and overload: ``add``."""
    overload: str
    """Overload, ``default`` where the schema has none: ``Tensor``."""

    def __post_init__(self) -> None:
        """Refuse what cannot be an ATen name.

        Raises:
            ValueError: a part is not an identifier.
        """
        if not _NAME.fullmatch(self.base) or not _NAME.fullmatch(self.overload):
            message = f"not an operator name: {self.base!r}.{self.overload!r}"
            raise ValueError(message)

    def __str__(self) -> str:
        """Return ``base.overload``."""
        return f"{self.base}.{self.overload}"

    @property
    def folder(self) -> str:
        """Folder of this operator in a kernel store: ``add__Tensor``."""
        return f"{self.base}__{self.overload}"

    @property
    def kernel_function(self) -> str:
        """Function that a kernel file must export: ``add__Tensor_kernel_impl``."""
        return f"{self.folder}_kernel_impl"

    @property
    def kernel_stem(self) -> str:
        """Stem of the kernel file: ``add__Tensor_implementation``."""
        return f"{self.folder}_implementation"

    @classmethod
    def parse(cls, text: str) -> OperatorName:
        """Read ``aten.add.Tensor``, ``aten::add.Tensor``, ``add.Tensor`` or ``relu`` (``relu.default``).

        Raises:
            ValueError: the text is not an operator name.
        """
        name = text.strip().replace("::", ".").removeprefix("aten.")
        base, _, overload = name.partition(".")
        return cls(base, overload or "default")

    @classmethod
    def from_folder(cls, folder: str) -> OperatorName:
        """Read a kernel store's folder name: ``add___Tensor`` is ``add_.Tensor``.

        The last double underscore separates base and overload, which is exact for every ATen overload.

        Raises:
            ValueError: the folder name has no ``__`` or no valid parts.
        """
        base, separator, overload = folder.rpartition("__")
        if not separator:
            message = f"not an operator folder: {folder!r}"
            raise ValueError(message)
        return cls(base, overload)


@dataclass(frozen=True, slots=True, order=True)
class ModuleName:
    """A module problem, such as ``level2_14_Gemm_Divide_Sum_Scaling.module``."""

    stem: str
    """Letters, digits and underscores; taken from the problem file's path."""

    def __post_init__(self) -> None:
        """Refuse what could not be a folder's name.

        Raises:
            ValueError: the stem has other characters.
        """
        if not _MODULE.fullmatch(self.stem):
            message = f"not a module name: {self.stem!r}"
            raise ValueError(message)

    def __str__(self) -> str:
        """Return ``stem.module``."""
        return f"{self.stem}.{MODULE_OVERLOAD}"

    @property
    def folder(self) -> str:
        """Folder of this module in a kernel store: ``mlp__module``."""
        return f"{self.stem}__{MODULE_OVERLOAD}"

    @property
    def kernel_function(self) -> str:
        """Function that a kernel file exports, as KernelAgent calls it; a class ``ModelNew`` does as well."""
        return "kernel_function"

    @property
    def kernel_stem(self) -> str:
        """Stem of the kernel file: ``mlp__module_implementation``."""
        return f"{self.folder}_implementation"


ProblemName: TypeAlias = OperatorName | ModuleName
"""What a problem, its folder and its kernel are called."""


def parse_name(text: str) -> ProblemName:
    """Read a name as ``str`` writes it.

    Raises:
        ValueError: the text is neither an operator's nor a module's name.
    """
    stem, _, last = text.strip().rpartition(".")
    if stem and last == MODULE_OVERLOAD:
        return ModuleName(stem)
    return OperatorName.parse(text)


def name_from_folder(folder: str) -> ProblemName:
    """Read a kernel store's folder name.

    Raises:
        ValueError: the folder name is of neither kind.
    """
    stem, separator, last = folder.rpartition("__")
    if separator and last == MODULE_OVERLOAD:
        return ModuleName(stem)
    return OperatorName.from_folder(folder)
