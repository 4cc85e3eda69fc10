"""How close the agent comes to the pace that a server's limit allows, while the evaluator judges beside it.

python tests/benchmarks/agent_throughput.py --operators 50 --agents 4 --latency 2 --per-second 1

The scripted server answers with the baseline generator's kernels after the given latency, and refuses calls above its
rate with 429. Printed: the calls, the time that the rate alone sets for them, the time that was taken, and the ratio.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import kagent_bench  # noqa: E402
from kab_baseline import registry  # noqa: E402
from kagent_bench.model.names import OperatorName  # noqa: E402
from tests.plugins.kernelagent.scripts import fenced, operator_of  # noqa: E402
from tests.plugins.kernelagent.server import Asked, ModelServer, Say  # noqa: E402

NAMES = """abs add.Tensor sub.Tensor mul.Tensor div.Tensor neg exp exp2 log log2 log10 log1p expm1 sqrt rsqrt sin cos tan
tanh sigmoid relu reciprocal floor ceil trunc round frac sign sgn maximum minimum fmax fmin eq.Tensor ne.Tensor
lt.Tensor le.Tensor gt.Tensor ge.Tensor isnan isinf logical_and logical_or logical_not hardtanh leaky_relu elu silu
softplus hardswish hardsigmoid log_sigmoid_forward erf erfc atan2 hypot lerp.Tensor clamp where.self""".split()


def main() -> None:
    """Run once and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--operators", type=int, default=50)
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--latency", type=float, default=2.0)
    parser.add_argument("--per-second", type=float, default=1.0)
    parser.add_argument("--calls-per-minute", type=float, default=0.0)
    parser.add_argument("--cases", type=int, default=3)
    given = parser.parse_args()
    written = {}
    for name in NAMES:
        source = registry.write(OperatorName.parse(name))
        if source is not None:
            written[str(OperatorName.parse(name))] = source
    ops = list(written)[: given.operators]

    def script(asked: Asked) -> Say:
        return Say(text=fenced(written[operator_of(asked)]), after_s=given.latency)

    os.environ.setdefault("OPENAI_API_KEY", "none")
    with (
        tempfile.TemporaryDirectory() as folder,
        ModelServer(script, per_second=given.per_second).running() as server,
    ):
        base, common = Path(folder) / "kernels", {"suite": "opinfo", "dtype": ["fp32"]}
        kagent_bench.setup(base_dir=base, ops=ops, cases_per_operator=given.cases, **common)  # type: ignore[arg-type]
        started = time.monotonic()
        done = kagent_bench.generate(
            base_dir=base,
            ops=ops,
            cases_per_operator=given.cases,
            rounds=2,
            workflow="kernelagent",
            options={
                "model": "m",
                "base_url": f"{server.url}/v1",
                "agents": given.agents,
                "agent_logs": str(Path(folder) / "logs"),
                "calls_per_minute": given.calls_per_minute,
            },
            **common,  # type: ignore[arg-type]
        )
        took = time.monotonic() - started
        bound = server.answered / given.per_second + given.latency
        print(f"operators {len(ops)}, outcomes {done.counts}")
        print(f"calls answered {server.answered}, refused {server.refused}")
        print(f"bound {bound:.1f} s, took {took:.1f} s, ratio {took / bound:.2f}")


if __name__ == "__main__":
    main()
