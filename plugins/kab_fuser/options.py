"""The fuser's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kagent_bench.hooks.options import GeneratorOption

ROUTES = ("auto", "whole", "regions")
BUILTIN, UPSTREAM = "builtin", "upstream"
AGENTS = (BUILTIN, UPSTREAM)
AUTO, AUTHORED, LIBRARY = "auto", "authored", "library"
PRODUCTS = (AUTO, AUTHORED, LIBRARY)

DECLARED = (
    GeneratorOption(
        name="inner", default="baseline", summary="Generator that writes the kernels of regions."
    ),
    GeneratorOption(
        name="route",
        default="auto",
        summary="One kernel for a whole module, a kernel for each region, or whichever works.",
        choices=ROUTES,
    ),
    GeneratorOption(
        name="products",
        default=AUTO,
        summary="Matrix products and convolutions as kernels or as calls of the library; auto leaves them to the"
        " library on a GPU where the baseline would write them.",
        choices=PRODUCTS,
    ),
    GeneratorOption(
        name="keep_slow",
        default=False,
        summary="Keep kernels that the library beats; on a GPU such regions stay with the library.",
    ),
    GeneratorOption(name="explain", default=False, summary="Tell why modules are cut as they are (with -v)."),
    GeneratorOption(
        name="agent",
        default=BUILTIN,
        summary="The built-in pipeline, or the public Fuser where it is installed.",
        choices=AGENTS,
    ),
    GeneratorOption(name="model", default="", summary="Model that the public Fuser asks; empty for its own."),
    GeneratorOption(
        name="base_url", default="", summary="Server that the public Fuser asks; empty for OpenAI's."
    ),
    GeneratorOption(
        name="upstream_path", default="", summary="Folder of a checkout of it; empty where it is installed."
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FuserOptions:
    """The options, read."""

    inner: str = "baseline"
    route: str = "auto"
    products: str = AUTO
    keep_slow: bool = False
    explain: bool = False
    agent: str = BUILTIN
    model: str = ""
    base_url: str = ""
    upstream_path: str = ""

    def leaves_products(self, device: str) -> bool:
        """Return whether products stay with the library: cuBLAS and cuDNN beat the baseline's plain tiles on a GPU."""
        if self.products == AUTO:
            return device != "cpu" and self.inner == "baseline"
        return self.products == LIBRARY

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> FuserOptions:
        """Read the generator's table; its values are checked already."""
        return cls(**{item.name: table.get(item.name, item.default) for item in DECLARED})
