"""Kernels are found in replies as models really write them."""

from __future__ import annotations

import ast
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kab_kernelagent.code.extract import Lack, extract
from tests.plugins.kernelagent.scripts import RELU, fenced

NAME = "relu__default_kernel_impl"
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
JIT = "\n@triton.jit\ndef body(x):\n    pass\n"
WRAPPER = "\ndef kernel_function(self):\n    body[(1,)](self)\n    return self\n"
WHOLE = HEAD + JIT + WRAPPER


def _source(reply: str, **options: object) -> str:
    found = extract(reply, NAME, **options)  # type: ignore[arg-type]
    assert found.source is not None, found
    ast.parse(found.source)
    assert f"def {NAME}(" in found.source
    return found.source


@pytest.mark.parametrize(
    "reply",
    [
        fenced(WHOLE),
        f"```\n{WHOLE}\n```",
        f"```Python\n{WHOLE}\n```",
        f"~~~python\n{WHOLE}\n~~~",
        f"````python\n{WHOLE}\n````",
        f"1. The file:\n\n   ```python\n{''.join('   ' + line for line in WHOLE.splitlines(keepends=True))}   ```\n",
        f"```python\r\n{WHOLE.replace(chr(10), chr(13) + chr(10))}\r\n```",
        f"The closing fence is missing:\n```python\n{WHOLE}",
        f"Here it is:\n\n{WHOLE}\nThis kernel handles every stride. It's fast!\n",
        WHOLE,
        f"First:\n```python\n{HEAD + JIT}```\nthen:\n```python\n{WRAPPER}```\n",
        f"```bash\npip install triton\n```\n```python\n{WHOLE}```\n```python\nprint(kernel_function(1))\n```",
        f"Wrong:\n```python\ndef kernel_function(x):\n    return x.relu()\n```\nRight:\n```python\n{WHOLE}```",
        f"\x1b[31m```python\x1b[0m\n{WHOLE}```",
        f"```python:kernel.py\n{WHOLE}```",
        "- The file:\n  - ```python\n"
        + "".join(f"    {line}" for line in WHOLE.splitlines(keepends=True))
        + "    ```\n",
        f"<think>\nFirst try:\n```python\ndef half(\n</think>\n{fenced(WHOLE)}",
        f"First try: `def kernel_function(x): ...`\n</think>\n{WHOLE}",
        f"<think>{fenced(WHOLE)}",
        json.dumps({"explanation": "It's fast.", "files": [{"path": "../../k.py", "content": WHOLE}]}),
        json.dumps([{"type": "text", "text": fenced(WHOLE)}]),
        "```json\n" + json.dumps({"code": WHOLE}, indent=1) + "\n```",
        fenced(WHOLE + "MODE = \u201cfast\u201d\n"),
        fenced(WHOLE.replace("    ", "\u00a0\u00a0 \u00a0")),
        fenced(WHOLE.replace("def kernel", "def \u200bkernel") + "# \ud800\n"),
        fenced(f'"""Use:\n```\nkernel_function(x)\n```\n"""\n{WHOLE}'),
    ],
    ids=range(26),
)
def test_the_whole_file_is_found(reply: str) -> None:
    """Whatever is around it, and whatever other blocks there are."""
    source = _source(reply)

    assert "@triton.jit" in source
    assert "body[(1,)](self)" in source


def test_a_draft_of_thinking_is_not_the_answer() -> None:
    """What was written aloud before the answer may be wrong, as its author found."""
    draft = WHOLE.replace("pass", "draft = 1")

    for answer in (fenced(WHOLE), WHOLE):
        assert "draft" not in _source(f"<think>\n{fenced(draft)}\nNo.\n</think>\n{answer}")


@pytest.mark.parametrize(
    "text",
    [
        WHOLE.replace("kernel_function", "relu") + "\n\ndef test_relu():\n    assert relu(1)\n",
        WHOLE.replace("kernel_function", "relu") + "\n\ndef reference(x):\n    return x\n",
        (HEAD + JIT + WRAPPER).replace("kernel_function", "launch").replace("body", "kernel_function"),
    ],
    ids=["its test", "a reference", "the name is its kernel's"],
)
def test_the_function_that_launches_is_meant(text: str) -> None:
    """Whatever it is called, and whatever else is in the file."""
    source = _source(fenced(text))

    tree = ast.parse(source)
    main = next(item for item in tree.body if isinstance(item, ast.FunctionDef) and item.name == NAME)
    assert [] == main.decorator_list
    assert "[1,]" in ast.unparse(main)


def test_inner_calls_are_renamed_too() -> None:
    """A recursive call and a reference would dangle otherwise; strings and attributes stay."""
    text = (
        WHOLE
        + '\n\ndef other(x):\n    """calls kernel_function"""\n    return x.kernel_function, kernel_function(x)\n'
    )

    source = _source(fenced(text))

    assert f"return x.kernel_function, {NAME}(x)" in source
    assert '"""calls kernel_function"""' in source


def test_a_function_of_another_name_is_exported() -> None:
    """Where there is only one that can be meant."""
    text = WHOLE.replace("kernel_function", "relu_triton").replace(
        "def relu", "def _help():\n    pass\n\n\ndef relu"
    )

    assert "relu_triton" not in _source(fenced(text))


def test_the_right_name_is_left_alone() -> None:
    """The text of a right answer is not changed."""
    text = WHOLE.replace("kernel_function", NAME)

    assert text == _source(fenced(text))


def test_forgotten_imports_are_added() -> None:
    """After docstring and __future__ imports, each once."""
    text = (
        '"""Doc."""\nfrom __future__ import annotations\n'
        + JIT
        + WRAPPER.replace("(self):", "(self: torch.Tensor):")
    )
    text += "\n\n@triton.jit\ndef more(x):\n    tl.load(x + math.floor(1.0))\n"

    lines = _source(fenced(text)).splitlines()

    assert {"import torch", "import triton", "import triton.language as tl", "import math"} <= set(lines)
    assert "from __future__ import annotations" == lines[1]


OLD, NEW = (f"    value = tl.load(source + offset, mask=inside, other={other})\n" for other in (0, 1))
HUNK = f"@@ -1,3 +1,3 @@\n     inside = index < n - 1\n-{OLD}+{NEW}"
REPLACE = f"<<<<<<< SEARCH\n{OLD}=======\n{NEW}>>>>>>> REPLACE\n"


@pytest.mark.parametrize("edit", [HUNK, REPLACE], ids=["diff", "replace"])
def test_an_edit_is_applied_to_the_former_kernel(edit: str) -> None:
    """Wherever its lines stand; the file name and the line numbers in it are not read."""
    former = RELU.replace("kernel_function", NAME).replace("index < n", "index < n - 1")
    reply = f"```diff\n--- a/../../etc/passwd\n+++ b/../../etc/passwd\n{edit}```"

    source = _source(reply, former=former)

    assert "other=1" in source
    assert "index < n - 1" in source


def test_an_edit_that_fits_nowhere_is_told() -> None:
    """It is not a wrong kernel but no kernel."""
    reply = "```diff\n@@ -1 +1 @@\n-not there\n+new\n```"

    assert Lack.BAD_PATCH is extract(reply, NAME, former=RELU).lack
    assert Lack.BAD_PATCH is extract(reply, NAME).lack


@pytest.mark.parametrize(
    ("reply", "cut_off", "lack"),
    [
        ("", False, Lack.EMPTY),
        (" \n\t\n", False, Lack.EMPTY),
        ("I cannot help with that.", False, Lack.NO_CODE),
        ("I import nothing and return nothing.", False, Lack.NO_CODE),
        (f"```python\n{RELU[:700]}", False, Lack.TRUNCATED),
        (f"```python\n{RELU[:700]}\n```", True, Lack.TRUNCATED),
        ("```python\ndef kernel_function(x:\n    return x\n```", False, Lack.NOT_PYTHON),
        (f"```python\n{HEAD + JIT}```", False, Lack.NO_ENTRY),
        (f"```python\n{'x = 1' + chr(10)}```", False, Lack.NO_ENTRY),
        (f"```python\n# {'x' * 300_000}\n{WHOLE}```", False, Lack.TOO_LONG),
    ],
    ids=range(10),
)
def test_what_is_lacking_is_told(reply: str, cut_off: bool, lack: Lack) -> None:  # noqa: FBT001
    """Each lack by its own name, with words for the author."""
    found = extract(reply, NAME, cut_off=cut_off)

    assert (None, lack) == (found.source, found.lack)
    assert found.detail


def test_terminal_escapes_do_not_reach_a_kernel() -> None:
    """Nor marks that make a text read otherwise than it runs."""
    text = WHOLE.replace("pass", 'pass  # \x1b]0;owned\x07 \u202e "\x00"')

    source = _source(fenced(text))

    assert not set("\x1b\x07\u202e\x00") & set(source)


@pytest.mark.parametrize(
    "flood",
    [
        "`" * 2_000_000,
        "```\n" * 300_000,
        "import x\n" * 200_000,
        "(" * 1_000_000,
        "```python\n" + "-" * 150_000 + "1\n```",
    ],
    ids=["ticks", "fences", "imports", "brackets", "minus"],
)
def test_a_flood_takes_a_moment(flood: str) -> None:
    """Ten megabytes of anything cost seconds at most, and no crash."""
    started = time.monotonic()

    assert extract(flood[:1_000_000], NAME).source is None

    assert time.monotonic() - started < 20


@given(st.text(alphabet="`~\n pydef@:=()'\"#\\x1234", max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    """A reply is never a reason to stop."""
    found = extract(text, NAME, former=WHOLE)

    assert (found.source is None) == (found.lack is not None)
