"""What sees the calls of PyTorch's dispatcher, and costs no more than that."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class DispatchWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode under which nothing is compiled; what is done with a call is up to the class derived from it."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keep torch from importing its compiler, a second's work, on the first call, and from guarding every call."""
        return False
