"""An operator timed against itself: the ratio should be 1, and its spread small.

    python tests/benchmarks/aa.py [--repeats 8] [--processes 4] [--do-bench]

Prints for each operator and shape the eager time, mean (bias) and standard deviation of ln(ratio) over the repeats,
which are spread over several processes of the candidate: each has its memory and its code elsewhere; how often a
difference was claimed; and the time that a further and a first measurement of a process took. With ``--do-bench``
the same of a pair of ``triton.testing.do_bench`` calls in this process.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from typing import TYPE_CHECKING

from kagent_bench.report.speed import Finding, speed_of
from tests.benchmarks.timing_side_by_side import bench, eager_source, tensor_case

if TYPE_CHECKING:
    from kagent_bench.model.case import Case

CASES = {
    "relu 1k f32": tensor_case("relu.default", [(1024,)], "float32"),
    "add 64k f16": tensor_case("add.Tensor", [(65536,), (65536,)], "float16"),
    "relu 1M f32": tensor_case("relu.default", [(1024, 1024)], "float32"),
    "relu 4M bf16": tensor_case("relu.default", [(2048, 2048)], "bfloat16"),
    "add 8x512x768 f16": tensor_case("add.Tensor", [(8, 512, 768)] * 2, "float16"),
    "mul 4M f32": tensor_case("mul.Tensor", [(2048, 2048)] * 2, "float32"),
    "gelu 4M f16": tensor_case("gelu.default", [(2048, 2048)], "float16"),
    "softmax 24x512x512 f32": tensor_case("_softmax.default", [(24, 512, 512)], "float32", -1, False),  # noqa: FBT003
    "sum 4096x4096 f32": tensor_case("sum.dim_IntList", [(4096, 4096)], "float32", (1,)),
    "mm 1024 f16": tensor_case("mm.default", [(1024, 1024)] * 2, "float16"),
    "mm 2048 bf16": tensor_case("mm.default", [(2048, 2048)] * 2, "bfloat16"),
    "mm 4096 bf16": tensor_case("mm.default", [(4096, 4096)] * 2, "bfloat16"),
    "relu 64M f32": tensor_case("relu.default", [(8192, 8192)], "float32"),
    "mm 8192x4096 bf16": tensor_case("mm.default", [(8192, 4096), (4096, 8192)], "bfloat16"),
}
"""From launch-bound ones to about a millisecond on a large card."""


def main() -> None:
    """Time every case against itself and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--do-bench", action="store_true")
    chosen = parser.parse_args()
    print(
        f"{'case':24} {'eager us':>9} {'bias %':>7} {'sd %':>6} {'width %':>7} {'claims':>6} {'turns':>5} "
        f"{'s/case':>7} {'s first':>7} {'host us':>8} {'ext us':>8} {'light':>6}  notes"
    )
    with bench() as session:
        for name, case in CASES.items():
            ratios, widths, claims = [], [], 0
            walls: list[float] = []
            firsts: list[float] = []
            timing = None
            for timed in session.times(case, eager_source(case), chosen.repeats, processes=chosen.processes):
                timing = timed.outcome.timing
                if timing is None or timed.outcome.status:
                    print(f"{name:24} {timed.outcome}")
                    continue
                speed = speed_of(timing)
                if speed.ratio is None:
                    continue
                ratios.append(math.log(speed.ratio.value))
                widths.append(speed.ratio.half_width)
                claims += speed.finding is not Finding.NO_DIFFERENCE
                (firsts if timed.first else walls).append(timed.wall_s)
            if not ratios or timing is None:
                print(f"{name:24} no device")
                continue
            print(
                f"{name:24} {speed.reference_s * 1e6:9.2f} {100 * statistics.mean(ratios):7.2f} "
                f"{100 * statistics.pstdev(ratios):6.2f} {100 * statistics.mean(widths):7.2f} {claims:>3}/{len(ratios)} "
                f"{len(timing.candidate_s):5} {statistics.mean(walls or firsts):7.3f} {statistics.mean(firsts):7.3f} {timing.candidate_host_s * 1e6:8.1f} "
                f"{(timing.external_s or 0) * 1e6:8.1f} {speed.light_share or 0:6.2f}  {' '.join(speed.notes)}",
                flush=True,
            )
    if chosen.do_bench:
        for name, case in CASES.items():
            _do_bench(name, case, chosen.repeats)


def _do_bench(name: str, case: Case, repeats: int) -> None:
    import torch
    import triton.testing

    from kagent_bench.evaluate.oracle import reference
    from kagent_bench.evaluate.oracle.semantics import overload

    device = torch.device("cuda")
    storages = [
        torch.rand(storage.numel, device=device).to(getattr(torch, storage.dtype))
        for storage in case.storages
    ]
    args = [reference.build(value, storages, device, wide=False) for value in case.args]
    operator = overload(case.operator)

    def call() -> object:
        return operator(*args)

    started = time.monotonic()
    ratios = [math.log(triton.testing.do_bench(call) / triton.testing.do_bench(call)) for _ in range(repeats)]
    wall_s = (time.monotonic() - started) / repeats
    print(
        f"do_bench {name:24} bias {100 * statistics.mean(ratios):6.2f} % sd {100 * statistics.pstdev(ratios):6.2f} % "
        f"{wall_s:.3f} s/case",
        flush=True,
    )


if __name__ == "__main__":
    main()
