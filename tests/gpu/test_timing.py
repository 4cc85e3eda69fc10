"""Timing on a GPU: tricks with clocks, streams and repeated calls are told, honest look-alikes are timed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kagent_bench.report.speed import speed_of
from tests.benchmarks.timing_side_by_side import Bench, bench, tensor_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.evaluate.timing.conductor import TimingOutcome

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]
_PROBE = "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 1)"
ELEMENTS = 48 << 20
"""Single precision elements: about 100 us of a large card, far above what launching costs."""
CASE = tensor_case("relu.default", [(ELEMENTS,)], "float32")
_HONEST = """import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0.0), mask=inside)


def _relu(x, y=None):
    y = torch.empty_like(x) if y is None else y
    _kernel[(triton.cdiv(x.numel(), 4096),)](x, y, x.numel(), BLOCK=4096)
    return y


"""
CHEATS = {
    "elapsed_time_divided": """_true = torch.cuda.Event.elapsed_time
torch.cuda.Event.elapsed_time = lambda self, end: _true(self, end) / 20


def relu__default_kernel_impl(x):
    return _relu(x)
""",
    "elapsed_time_constant": """torch.cuda.Event.elapsed_time = lambda self, end: 0.005


def relu__default_kernel_impl(x):
    return _relu(x)
""",
    "events_recorded_late": """_true = torch.cuda.Event.record
_waiting = []


def _record(self, *args):
    if _waiting:
        _true(_waiting.pop(), *args)
        return _true(self, *args)
    _waiting.append(self)


torch.cuda.Event.record = _record


def relu__default_kernel_impl(x):
    return _relu(x)
""",
    "side_stream": """_stream = torch.cuda.Stream()


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    with torch.cuda.stream(_stream):
        _relu(x, y)
    return y
""",
    "streams_left_current": """_streams = [torch.cuda.Stream(), torch.cuda.Stream()]


def relu__default_kernel_impl(x):
    _streams.reverse()
    torch.cuda.set_stream(_streams[0])
    return _relu(x)
""",
    "thread": """import threading


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    threading.Thread(target=lambda: (torch.cuda.set_device(x.device), _relu(x, y))).start()
    return y
""",
    "one_launch_for_all_calls": """_owed = []


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    _owed.append((x, y))
    if len(_owed) % 4 == 0:
        for given, out in _owed:
            _relu(given, out)
        _owed.clear()
    return y
""",
    "honest_only_at_first": """_calls = 0
_last = None


def relu__default_kernel_impl(x):
    global _calls, _last
    _calls += 1
    if _calls < 4:
        _last = _relu(x)
    return _last
""",
    "remembered_by_pointer": """_known = {}


def relu__default_kernel_impl(x):
    if x.data_ptr() not in _known:
        _known[x.data_ptr()] = _relu(x)
    return _known[x.data_ptr()]
""",
    "graph_of_old_contents": """_graph = None


def relu__default_kernel_impl(x):
    global _graph, _given, _out
    if _graph is None:
        _given, _out = x.clone(), torch.empty_like(x)
        _relu(_given, _out)
        torch.cuda.synchronize()
        _graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(_graph):
            _relu(_given, _out)
    _graph.replay()
    return _out
""",
    "nothing": """def relu__default_kernel_impl(x):
    return torch.empty_like(x)
""",
    "cheap_after_the_first_turn": """_calls = 0


def relu__default_kernel_impl(x):
    global _calls
    _calls += 1
    if _calls < 20:
        return _relu(x)
    y = torch.empty_like(x)
    half = x.numel() // 2
    _relu(x[:half], y[:half])
    return y
""",
}
HONEST = {
    "plain": """def relu__default_kernel_impl(x):
    return _relu(x)
""",
    "graph_that_recomputes": """_graphs = {}


def relu__default_kernel_impl(x):
    if x.data_ptr() not in _graphs:
        out = torch.empty_like(x)
        _relu(x, out)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            _relu(x, out)
        _graphs[x.data_ptr()] = graph, out
    graph, out = _graphs[x.data_ptr()]
    graph.replay()
    return out
""",
    "joined_stream": """_stream = torch.cuda.Stream()


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    _stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(_stream):
        _relu(x, y)
    torch.cuda.current_stream().wait_stream(_stream)
    return y
""",
    "autotuned": """@triton.autotune(configs=[triton.Config({"BLOCK": 1024}), triton.Config({"BLOCK": 8192})], key=["n"])
@triton.jit
def _tuned(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0.0), mask=at < n)


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    _tuned[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y
""",
    "output_buffer_rewritten": """_out = {}


def relu__default_kernel_impl(x):
    if x.shape not in _out:
        _out[x.shape] = torch.empty_like(x)
    return _relu(x, _out[x.shape])
""",
    "keeps_lines_in_cache": """@triton.jit
def _sticky(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, eviction_policy="evict_last")
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0.0), mask=at < n)


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    _sticky[(triton.cdiv(x.numel(), 4096),)](x, y, x.numel(), BLOCK=4096)
    return y
""",
    "slow_first_call": """import time

_calls = 0


def relu__default_kernel_impl(x):
    global _calls
    _calls += 1
    if _calls == 1:
        time.sleep(2)
    return _relu(x)
""",
}
FASTEST, SLOWEST = 0.7, 1.6
"""Between which an honest relu that reads and writes everything once lies, against eager's."""


@pytest.fixture(scope="module")
def session() -> Iterator[Bench]:
    """Start the evaluator on the device."""
    if subprocess.run([sys.executable, "-c", _PROBE], check=False).returncode:
        pytest.skip("no CUDA device")
    with bench() as started:
        yield started


def _time(session: Bench, source: str) -> TimingOutcome:
    (timed,) = session.times(CASE, _HONEST + source, 1)
    return timed.outcome


@pytest.mark.parametrize("name", CHEATS)
def test_a_trick_gives_no_time(session: Bench, name: str) -> None:
    """What a kernel does to clocks and calls ends it, or changes nothing for the better."""
    outcome = _time(session, CHEATS[name])
    assert outcome.status in {"rejected", "failed"}, outcome


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_kernel_is_timed(session: Bench, name: str) -> None:
    """Graphs, streams that are joined, autotuning and caches of memory get their true time."""
    outcome = _time(session, HONEST[name])
    assert outcome.status == "", outcome
    assert outcome.timing is not None, outcome.untimed
    speed = speed_of(outcome.timing)
    assert speed.ratio is not None
    assert FASTEST < speed.ratio.value < SLOWEST
    assert "implausible" not in speed.notes
