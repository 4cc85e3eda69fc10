"""A kernel that is k % slower by construction: how often is it called slower, and equal ones equal?

    python tests/benchmarks/planted.py [--percent 3] [--runs 20]

The kernel runs eager's own operator on k % more elements than it was given (its storage has them) and returns the
part that was asked for, so that the same kernel does k % more work in one launch.
"""

from __future__ import annotations

import argparse
from collections import Counter

from kagent_bench.report.speed import speed_of
from tests.benchmarks.timing_side_by_side import bench, eager_source, tensor_case

ELEMENTS = 44 << 20
"""Of a half precision tensor: about 50 us on a large card."""
PROCESSES = 4
"""Of the candidate, over which the runs are spread."""
SLOWER = """import torch


def relu__default_kernel_impl(x):
    more = x.as_strided((int(x.numel() * {factor}),), (1,))
    return torch.ops.aten.relu.default(more)[: x.numel()]
"""


def main() -> None:
    """Count what is said of a slower kernel and of an equal one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--percent", type=float, default=3.0)
    parser.add_argument("--runs", type=int, default=20)
    chosen = parser.parse_args()
    share = chosen.percent / 100
    case = tensor_case("relu.default", [(ELEMENTS,)], "float16", spare=share)
    kernels = {
        "equal": eager_source(case),
        f"{chosen.percent:g} % slower": SLOWER.format(factor=1 + share),
    }
    with bench() as session:
        for name, source in kernels.items():
            found: Counter[str] = Counter()
            for timed in session.times(case, source, chosen.runs, processes=PROCESSES):
                timing = timed.outcome.timing
                speed = speed_of(timing) if timing is not None else None
                found[str(speed.finding) if speed else timed.outcome.untimed or timed.outcome.reason] += 1
            shown = f"{speed.ratio} at {speed.reference_s * 1e6:.1f} us" if speed else ""
            print(f"{name:14} {dict(found)} of {chosen.runs}; the last: {shown}", flush=True)


if __name__ == "__main__":
    main()
