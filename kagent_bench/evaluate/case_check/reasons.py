"""Says in our own words why eager PyTorch does not take a call, where its own words need an expert."""

from __future__ import annotations

import re

REASONS = (
    (
        re.compile(r"expected scalar type \w+ but found \w+|mixed dtype|half to float conversion"),
        "PyTorch has no CPU kernel for this mixture of precisions, and one for GPUs",
    ),
    (
        re.compile(r"Could not run 'aten::\w*(cudnn|miopen)\w*'"),
        "the operator is one of cuDNN or MIOpen, and needs a GPU",
    ),
    (
        re.compile(r"Could not run 'aten::\w+' with arguments from the '(\w+)' backend"),
        "the operator has no kernel for this device",
    ),
    (
        re.compile(r"not implemented for '\w+'|doesn't support tensors of type: Half"),
        "the operator has no kernel for this dtype on this device",
    ),
)
"""What torch says, and what it means."""
SHOWN = 200
"""Letters of torch's own words that are kept."""


def explain(text: str) -> str:
    """Return a reason: our words for what is known, else the first line of torch's."""
    return _meaning(text) or (text.splitlines() or [""])[0][:SHOWN]


def lacks_a_kernel(text: str) -> bool:
    """Return whether torch says that the device has no such operator or not for these dtypes, whatever the sizes."""
    return bool(_meaning(text))


def _meaning(text: str) -> str:
    return next((words for pattern, words in REASONS if pattern.search(text)), "")
