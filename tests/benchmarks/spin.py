"""Kernels of known duration: does the clock read it?

    python tests/benchmarks/spin.py [--repeats 5]

A Triton kernel does its work and then waits on the device's own nanosecond counter. The first row waits for nothing:
what is read there is launch, start and end of the kernel, which the known duration does not hold. It is taken off the
driver's trace, whose error is printed after that; what the event method adds is left in its error. ``floor`` is what
the event method reads for an empty kernel.
"""

from __future__ import annotations

import argparse
import statistics

from kagent_bench.evaluate.timing.suspicion import median_s
from tests.benchmarks.timing_side_by_side import bench, tensor_case

DURATIONS_US = (0, 20, 50, 200, 1000, 5000)
KERNEL = """import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import globaltimer


@triton.jit
def spin(x, y, duration_ns):
    value = tl.load(x)
    tl.store(y, tl.where(value > 0, value, 0.0))
    start = globaltimer()
    now = start
    while now - start < duration_ns:
        now = globaltimer()


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    spin[(1,)](x, y, {duration_ns})
    return y
"""


def main() -> None:
    """Time kernels of known duration and print what was read."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    case = tensor_case("relu.default", [(1,)], "float32")
    print(
        f"{'true us':>8} {'events us':>10} {'error %':>8} {'floor us':>9} {'trace us':>9} {'error %':>8} {'outside us':>10}"
    )
    empty = 0.0
    with bench() as session:
        for duration in DURATIONS_US:
            source = KERNEL.format(duration_ns=duration * 1000)
            events, traces, outside, floor = [], [], [], 0.0
            for timed in session.times(case, source, chosen.repeats, trace_calls=5):
                timing = timed.outcome.timing
                if timing is None:
                    print(timed.outcome)
                    continue
                events.append(median_s(timing.candidate_s) * 1e6)
                traces.append((timing.kernel_s or 0.0) * 1e6)
                outside.append((timing.external_s or 0.0) * 1e6)
                floor = timing.launch_floor_s * 1e6
            if events:
                event, trace = statistics.median(events), statistics.median(traces)
                empty = trace if duration == 0 else empty
                print(
                    f"{duration:8} {event:10.2f} {_error(event, duration)} {floor:9.2f} {trace:9.2f} "
                    f"{_error(trace - empty, duration)} {statistics.median(outside):10.1f}",
                    flush=True,
                )


def _error(read_us: float, true_us: float) -> str:
    return f"{100 * (read_us / true_us - 1):8.2f}" if true_us else f"{'':8}"


if __name__ == "__main__":
    main()
