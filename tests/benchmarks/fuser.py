"""Composes module problems, judges and times them: ``python tests/benchmarks/fuser.py [FOLDER|FILE ...] [options]``.

    python tests/benchmarks/fuser.py                      the tests' problems, small, in the interpreter
    python tests/benchmarks/fuser.py --device cuda        the same at the sizes of models, timed
    python tests/benchmarks/fuser.py --device cuda KernelBench/level2 --every 5

Prints a row for each problem: verdict, eager, torch.compile and the composition in milliseconds, the speedup over
eager with its interval, and the share of compute operators in kernels. Problems are taken in groups, and none is begun
after ``--seconds``. Nothing is read from the network.
"""

from __future__ import annotations

import argparse
import ast
import math
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import kagent_bench
from kagent_bench.model.timing import EAGER
from kagent_bench.model.verdict import OperatorVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kagent_bench.model.record import CaseRecord
    from kagent_bench.model.summary import OperatorSummary
    from kagent_bench.model.timing import Turns

PROBLEMS = Path(__file__).parents[1] / "plugins" / "fuser_problems"
COMPILE = "torch-compile"


SIZES: Mapping[str, tuple[Mapping[int, int], Mapping[int, int]]] = {
    "attention_mask": ({32: 512, 96: 1536, 6: 512, 8: 64, 4: 8}, {2: 16}),
    "conv3d_softmax": ({4: 32}, {1: 16, 6: 34}),
    "conv_bn_relu": ({8: 64}, {2: 32, 10: 112}),
    "conv_pool_bias_clamp": ({6: 64}, {2: 32, 10: 114}),
    "conv_transpose_scale": ({6: 64, 4: 32}, {2: 16, 5: 64}),
    "cosine_similarity_loss": ({12: 1024, 10: 1024}, {6: 16384}),
    "depthwise_block": ({8: 64, 12: 128}, {2: 64, 9: 113}),
    "embedding_bag": ({30: 50000, 16: 256, 8: 512}, {4: 8192, 7: 64}),
    "gated_mlp": ({24: 1024, 40: 4096}, {2: 8, 5: 512}),
    "group_norm_swish": ({16: 128, 4: 32}, {2: 32, 5: 64}),
    "gru_step": ({10: 512, 12: 1024}, {4: 8192}),
    "half_precision_head": ({32: 1024, 10: 1000}, {6: 16384}),
    "instance_norm_residual": ({6: 64}, {2: 32, 8: 114}),
    "layer_scale_block": ({8: 96, 16: 384}, {2: 32, 6: 56}),
    "logsumexp_mish": ({16: 1024, 20: 8192}, {6: 4096}),
    "lstm_cell": ({16: 512, 12: 1024}, {5: 8192}),
    "mlp": ({24: 1024, 48: 4096}, {6: 4096}),
    "moe_gate": ({24: 2048, 8: 64}, {10: 16384}),
    "pooling_head": ({10: 512, 6: 1000}, {3: 64, 6: 28}),
    "residual_layer_norm_gelu": ({40: 1024}, {7: 32768}),
    "rms_norm_rotary": ({6: 2048, 16: 128}, {2: 64}),
    "running_average": ({12: 2048}, {8: 16384}),
    "sdpa_attention": ({16: 64}, {2: 32, 7: 1024}),
    "softmax_cross_entropy": ({20: 1024, 12: 8192}, {8: 8192}),
    "squeeze_excite": ({8: 256, 4: 64}, {2: 64, 7: 56}),
    "unet_block": ({4: 32, 8: 64, 2: 8}, {2: 16, 8: 128}),
}
"""By file: what each number becomes, and what it becomes in ``get_inputs``, where that differs."""


class _Enlarger(ast.NodeTransformer):
    def __init__(self, sizes: Mapping[int, int]) -> None:
        self._sizes = sizes

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float) or value not in self._sizes:
            return node
        return ast.Constant(type(value)(self._sizes[int(value)]))


def enlarged(path: Path) -> str:
    """Return the text of a problem file at the size of models."""
    everywhere, in_inputs = SIZES[path.stem]
    tree = ast.parse(path.read_text())
    for item in tree.body:
        is_inputs = isinstance(item, ast.FunctionDef) and item.name == "get_inputs"
        _Enlarger({**everywhere, **(in_inputs if is_inputs else {})}).visit(item)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _files(given: list[str], scratch: Path, *, large: bool) -> list[Path]:
    """Return the problem files: those named, or the tests' own, at the size of models where they are timed."""
    if given:
        found = [Path(item).resolve() for item in given]
        return [file for item in found for file in (sorted(item.rglob("*.py")) if item.is_dir() else [item])]
    own = sorted(PROBLEMS.glob("*.py"))
    if not large:
        return own
    for path in own:
        (scratch / path.name).write_text(enlarged(path))
    return [scratch / path.name for path in own]


def _ms(turns: Turns | None) -> str:
    if turns is None:
        return f"{'-':>9}"
    return f"{1e3 * statistics.median(sample for turn in turns for sample in turn):9.4f}"


def _row(item: OperatorSummary, record: CaseRecord | None, outcome: str) -> str:
    timing = record.timing if record is not None else None
    known = timing.references_s if timing is not None else {}
    times = " ".join(_ms(known.get(name)) for name in (EAGER, COMPILE))
    own = _ms(timing.candidate_s if timing is not None else None)
    speedup = item.speedup or item.speedup_of_all_timed
    ratio = "     -" if speedup is None else f"{speedup:5.2f}x"
    share = item.coverage.get("operators")
    covered = "   -" if share is None else f"{share:4.0%}"
    why = f"{item.reason} {outcome}".strip()
    return f"{item.op_name.removesuffix('.module')[:48]:48} {item.verdict.value:10} {times} {own} {ratio} {covered}  {why}"


def _group(files: Sequence[Path], options: argparse.Namespace) -> list[tuple[OperatorSummary, str]]:
    """Compose and judge some problems; returns their results and rows."""
    names = [str(path) for path in files]
    baseline = [EAGER] if options.no_compile or options.device == "cpu" else [EAGER, COMPILE]
    made = kagent_bench.generate(
        suite="kernelbench", suite_file=names, workflow="fuser", device=options.device
    )
    summary = kagent_bench.evaluate(
        suite="kernelbench", suite_file=names, device=options.device, baseline=baseline, fresh=True
    )
    why = {
        item.op_name: "" if item.verified else f"[{item.outcome}: {item.detail[:80]}]"
        for item in made.operators
    }
    records = {record.op_name: record for record in summary.cases}
    return [
        (item, _row(item, records.get(item.op_name), why.get(item.op_name, "")) + _detail(item))
        for item in summary.operators
    ]


def _detail(item: OperatorSummary) -> str:
    """Return a line of what is wrong with a kernel, empty for a correct one."""
    return "" if item.verdict is OperatorVerdict.CORRECT else f"\n    {item.detail[:400]}"


def _end(found: Iterable[OperatorSummary]) -> str:
    items = list(found)
    correct = [item for item in items if item.verdict is OperatorVerdict.CORRECT]
    text = f"{len(correct)} of {len(items)} correct"
    ratios = sorted(item.speedup or item.speedup_of_all_timed or 0.0 for item in correct)
    if ratios and ratios[0]:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        text += f"; speedup over eager: geometric mean {mean:.2f}x, lowest {ratios[0]:.2f}x"
    return text


def main() -> None:
    """Run generate and evaluate over problem files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--every", type=int, default=1, help="take only every so many of the files")
    parser.add_argument("--seconds", type=float, default=280.0, help="begin no group after so long")
    parser.add_argument(
        "--group", type=int, default=8, help="problems of one run of the tool, whose rows come together"
    )
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    options = parser.parse_args()
    started = time.monotonic()
    found: list[OperatorSummary] = []
    longest = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        sources = Path(scratch) / "problems"
        sources.mkdir()
        files = _files(options.files, sources, large=options.device != "cpu")[:: options.every]
        os.chdir(scratch)
        print(f"{'problem':48} {'verdict':10} {'eager ms':>9} {'compile':>9} {'ours ms':>9} speedup share")
        for start in range(0, len(files), options.group):
            begun = time.monotonic()
            if begun - started + longest > options.seconds:
                print(f"{len(files) - start} problems are left out: the time is over (--seconds)")
                break
            for item, row in _group(files[start : start + options.group], options):
                found.append(item)
                print(row, flush=True)
            longest = max(longest, time.monotonic() - begun)
        os.chdir(Path(__file__).parent)
    print(f"{_end(found)}; {time.monotonic() - started:.0f} s on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
