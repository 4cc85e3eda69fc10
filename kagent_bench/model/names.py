"""Operator names: an ATen overload, its folder and its function, converted without loss both ways."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
