"""The cases that the committed kernels are judged on: PyTorch's samples of their operators, with derived cases.

Only the operators that the corpus needs are recorded, once for each version of torch and of the recording code.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from kagent_bench.evaluate.corpus.entries import HONEST
from kagent_bench.model.case import TensorSpec
from kagent_bench.model.selection import OperatorCases
from kagent_bench.suites.cache import RECORDER, content_versions
from kagent_bench.suites.opinfo import CASES_PER_OPERATOR
from kagent_bench.suites.shard import Shard

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kagent_bench.evaluate.corpus.entries import Entry
    from kagent_bench.model.case import Case
    from kagent_bench.model.names import OperatorName

_NN = "nn.functional."
OPINFOS = {
    "_log_softmax": "log_softmax",
    "_softmax": "softmax",
    "embedding": _NN + "embedding",
    "gelu": _NN + "gelu",
    "leaky_relu": _NN + "leaky_relu",
    "native_layer_norm": _NN + "layer_norm",
    "relu": _NN + "relu",
    "hardtanh": _NN + "hardtanh",
    "mse_loss": _NN + "mse_loss",
    "softplus": _NN + "softplus",
}
"""PyTorch's name of the samples of an operator, where that is another one."""
RECORD_LIMIT_S = 300.0
HONEST_CASES = 12
"""Cases of an honest kernel and a dtype, the most different ones; a wrong kernel is judged until it is told."""
LONG_SIDE = 1000
"""Matrices with a longer side are left out: a kernel with a program for each row takes the interpreter seconds."""


class CorpusSuite:
    """Cases by operator and dtype, recorded when they are first asked for."""

    def __init__(self, folder: Path, operators: Sequence[OperatorName]) -> None:
        """Take a folder that outlives the test run, and all operators that will be asked for."""
        self._folder = folder
        self._names = sorted({_opinfo(operator) for operator in operators})
        self._shards: dict[str, Shard] = {}
        self._lock = threading.Lock()

    def cases(self, entry: Entry) -> OperatorCases:
        """Return the cases of a kernel's operator and dtypes.

        Raises:
            LookupError: there are none.
        """
        operator, dtypes = entry.operator, entry.dtypes
        limit = HONEST_CASES if entry.group == HONEST else CASES_PER_OPERATOR
        with self._lock:
            shards = [shard for shard in map(self._shard, dtypes) if operator in shard.kinds]
            cases = tuple(case for shard in shards for case in shard.cases(operator, limit))
        cases = tuple(case for case in cases if not _many_rows(case))
        if not cases:
            raise LookupError(f"no case of {operator} in {', '.join(dtypes)}")
        return OperatorCases(operator=operator, kind=shards[0].kinds[operator], cases=cases)

    def _shard(self, dtype: str) -> Shard:
        if dtype not in self._shards:
            self._shards[dtype] = Shard(self._recorded(dtype))
        return self._shards[dtype]

    def _recorded(self, dtype: str) -> Path:
        content = repr((content_versions(), self._names)).encode()
        path = self._folder / f"{dtype}-{hashlib.sha256(content).hexdigest()[:16]}.sqlite"
        if not path.exists():
            partial = path.with_suffix(f".{os.getpid()}")
            partial.unlink(missing_ok=True)
            command = [sys.executable, "-m", "kagent_bench.throwaway", RECORDER, dtype, str(partial)]
            subprocess.run(
                [*command, *self._names], check=True, timeout=RECORD_LIMIT_S, stderr=subprocess.DEVNULL
            )
            partial.replace(path)
        return path


def _many_rows(case: Case) -> bool:
    tensors = (value for value in case.args if isinstance(value, TensorSpec))
    return any(len(tensor.shape) > 1 and max(tensor.shape) > LONG_SIDE for tensor in tensors)


def _opinfo(operator: OperatorName) -> str:
    base = operator.base if operator.base in OPINFOS else operator.base.rstrip("_")
    return OPINFOS.get(base, base)
