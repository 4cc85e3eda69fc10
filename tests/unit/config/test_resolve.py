"""Settings: default < suite < file < environment < flag, each with its origin; what is unknown is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kagent_bench.config.environment import environment_layer
from kagent_bench.config.files import configs_dir, read_toml
from kagent_bench.config.keys import BY_NAME, BY_PATH, KEYS, Kind
from kagent_bench.config.load import load_settings, load_suite
from kagent_bench.config.resolve import argument_layer, flag_layer, resolve
from kagent_bench.config.schema import Settings
from kagent_bench.config.show import settings_rows
from kagent_bench.config.values import split_names
from kagent_bench.errors import ConfigError

OTHER: dict[str, tuple[Any, str, str]] = {
    "devices": (["cuda:0", "cuda:1"], '["cuda:0", "cuda:1"]', "cuda:0, cuda:1"),
    "performance": ("off", '"off"', "off"),
    "baseline": (["eager", "torch-compile"], '["eager", "torch-compile"]', "eager,torch-compile"),
    "kernel_time_calls": (5, "5", "5"),
    "base_dir": ("elsewhere", '"elsewhere"', "elsewhere"),
    "run_dir": ("there", '"there"', "there"),
    "num_workers": (3, "3", "3"),
    "suite": ("opinfo", '"opinfo"', "opinfo"),
    "ops": (["relu", "add.Tensor"], '["relu", "add.Tensor"]', "relu, add.Tensor"),
    "dtype": (["fp16"], '["fp16"]', "fp16"),
    "num_operators": (7, "7", "7"),
    "cases_per_operator": (9, "9", "9"),
    "suite_file": (["a.txt", "b"], '["a.txt", "b"]', "a.txt,b"),
    "as_dtype": ("bf16", '"bf16"', "bf16"),
    "kind": (["value"], '["value"]', "value"),
    "traced_model": (["llama*"], '["llama*"]', "llama*"),
    "min_count": (2, "2", "2"),
    "min_bytes": (3, "3", "3"),
    "max_bytes": (4, "4", "4"),
    "top_n": (5, "5", "5"),
    "sample": (6, "6", "6"),
    "sample_seed": (7, "7", "7"),
    "split": ("held_out", '"held_out"', "held_out"),
    "workflow": ("fuser", '"fuser"', "fuser"),
    "max_attempts": (4, "4", "4"),
    "time_limit_s": (12.5, "12.5", "12.5"),
    "force": (True, "true", "yes"),
    "device": ("cuda:1", '"cuda:1"', "cuda:1"),
    "policy": ("report", '"report"', "report"),
    "compile_target": ("none", '"none"', "none"),
    "executor": ("ray", '"ray"', "ray"),
    "rounds": (2, "2", "2"),
    "case_timeout_s": (1.0, "1", "1"),
    "startup_timeout_s": (2.0, "2.0", "2"),
    "kernel_timeout_s": (3.0, "3", "3e0"),
    "memory_limit_mib": (512, "512", "512"),
    "interpreter_elements": (9, "9", "9"),
    "output_limit_kib": (8, "8", "8"),
    "tolerance": ({"float16": 0.5}, "{ float16 = 0.5 }", "float16=0.5"),
}
"""For each setting a value that is not the default: as JSON, in TOML, in a variable."""


def _value(data: dict[str, Any], path: str) -> Any:
    for part in path.split("."):
        data = data[part]
    return data


def _file(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_the_keys_are_the_schema() -> None:
    """Every field of the schema can be set, and nothing else; leaf names are unique."""
    settings = resolve(environ={}).to_json()["settings"]
    leaves = {
        f"{name}.{leaf}" if isinstance(value, dict) and name not in {"tolerance", "generators"} else name
        for name, value in settings.items()
        for leaf in (value if isinstance(value, dict) and value else [None])
    }
    assert set(BY_PATH) == leaves - {"generators"}
    assert len(KEYS) == len(BY_NAME)
    assert set(OTHER) == set(BY_NAME)


def test_the_shipped_file_is_the_schema() -> None:
    """`configs/kab.toml` documents every default, with the schema's value."""
    layer = load_settings(configs_dir() / "kab.toml")
    defaults = resolve(environ={}).to_json()["settings"]

    assert {path: _value(defaults, path) for path in layer.values} == {
        path: list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value
        for path, value in layer.values.items()
    }
    assert set(BY_PATH) - {"run_dir", "tolerance"} == set(layer.values)
    assert Settings() == resolve(environ={}).settings


@pytest.mark.parametrize("name", OTHER)
def test_every_layer_reaches_every_setting(tmp_path: Path, name: str) -> None:
    """A file, a variable and a flag each change the recorded value, and the later one wins with its origin."""
    key = BY_NAME[name]
    expected, toml, text = OTHER[name]
    section, _, leaf = key.path.rpartition(".")
    file = _file(tmp_path, (f"[{section}]\n" if section else "") + f"{leaf} = {toml}\n")
    origin = "tolerance.float16" if key.kind is Kind.TOLERANCE else key.path

    by_file = resolve(config=file, environ={})
    by_variable = resolve(environ={key.variable: text})
    by_flag = resolve(flag_layer({name: expected}), config=file, environ={key.variable: text})

    for resolved in (by_file, by_variable, by_flag):
        assert expected == _value(resolved.to_json()["settings"], key.path)
    assert f"file:{file}" == by_file.origins[origin]
    assert f"env:{key.variable}" == by_variable.origins[origin]
    assert f"flag:{key.flag}" == by_flag.origins[origin]


def test_precedence(tmp_path: Path) -> None:
    """Flag over environment over file over default."""
    file = _file(tmp_path, "[evaluate]\nrounds = 2\npolicy = 'report'\nexecutor = 'x'\n")
    environ = {"KAB_ROUNDS": "3", "KAB_POLICY": "strict"}

    evaluate = resolve(flag_layer({"rounds": 4}), config=file, environ=environ).settings.evaluate

    assert (4, "strict", "x", 30.0) == (
        evaluate.rounds,
        evaluate.policy,
        evaluate.executor,
        evaluate.case_timeout_s,
    )


def test_tolerances_merge_per_dtype(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flag over environment over file over the suite's own, dtype by dtype."""
    for name in ("kab.toml", "tolerances.toml"):
        (tmp_path / name).write_text((configs_dir() / name).read_text())
    dtypes = ("float64", "float32", "float16", "bfloat16")
    (tmp_path / "suites.toml").write_text(
        "[smoke.tolerance]\n"
        + "".join(f"{dtype} = 0.1\n" for dtype in dtypes)
        + "[opinfo.tolerance]\nfloat64 = 9\n"
    )
    monkeypatch.setattr("kagent_bench.config.resolve.configs_dir", lambda: tmp_path)
    file = _file(tmp_path, "[tolerance]\nfloat32 = 0.2\nfloat16 = 0.2\nbfloat16 = 0.2\n")
    environ = {"KAB_TOLERANCE": "float16=0.3,bfloat16=0.3"}

    resolved = resolve(flag_layer({"tolerance": {"bfloat16": 0.4}}), config=file, environ=environ)

    assert {"float64": 0.1, "float32": 0.2, "float16": 0.3, "bfloat16": 0.4} == resolved.settings.tolerance
    assert f"suite:smoke ({tmp_path / 'suites.toml'})" == resolved.origins["tolerance.float64"]


def test_an_edited_shipped_file_is_an_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What still says the default has the origin `default`; what was changed names the file."""
    shipped = (configs_dir() / "kab.toml").read_text()
    (tmp_path / "kab.toml").write_text(shipped.replace("rounds = 5", "rounds = 6"))
    (tmp_path / "suites.toml").write_text("")
    monkeypatch.setattr("kagent_bench.config.resolve.configs_dir", lambda: tmp_path)

    resolved = resolve(environ={})

    assert 6 == resolved.settings.evaluate.rounds
    assert f"file:{tmp_path / 'kab.toml'}" == resolved.origins["evaluate.rounds"]
    assert "default" == resolved.origins["evaluate.policy"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[evaluate]\nroundz = 3\n", "unknown key 'evaluate.roundz'"),
        ("suite = 'smoke'\n", "unknown key 'suite'"),
        ("[evaluation]\nrounds = 3\n", "unknown key 'evaluation'"),
        ("[evaluate]\nrounds = '3'\n", "key evaluate.rounds: '3' is not a whole number"),
        ("[evaluate]\nrounds = true\n", "is not a whole number"),
        ("[evaluate]\nrounds = 0\n", "must be at least 1"),
        ("[evaluate]\npolicy = 'lax'\n", "must be strict or report"),
        ("[evaluate]\ndevice = 'tpu'\n", "must be auto, cpu"),
        ("[evaluate]\ncase_timeout_s = 0\n", "greater than 0"),
        ("[evaluate]\ncase_timeout_s = inf\n", "finite"),
        ("[evaluate]\ncase_timeout_s = nan\n", "is not a number"),
        ("num_workers = -1\n", "must be at least 0"),
        ("evaluate = 3\n", "key evaluate: must be a table"),
        ("[selection]\nops = 'relu'\n", "is not a list of names"),
        ("[generate]\nforce = 'yes'\n", "is not true or false"),
        ("base_dir = ''\n", "is not a folder"),
        ("[tolerance]\nfloat = 1e-3\n", "no tolerance for dtype 'float'"),
        ("[tolerance]\nint64 = 1e-3\n", "no tolerance for dtype 'int64'"),
        ("[tolerance]\nfloat16 = 0\n", "0 is no tolerance"),
        ("[generators]\nbaseline = 3\n", "key generators.baseline: must be a table"),
        ("[evaluate\n", "is not TOML"),
    ],
)
def test_a_bad_file_is_refused_with_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    """The message has the file and the key path."""
    file = _file(tmp_path, text)

    with pytest.raises(ConfigError) as caught:
        resolve(config=file, environ={})

    assert words in caught.value.message
    assert str(file) in caught.value.message


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """`--config` names an existing file."""
    with pytest.raises(ConfigError, match="cannot be read"):
        resolve(config=tmp_path / "none.toml", environ={})


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"KAB_ROUND": "3"}, "unknown environment variable KAB_ROUND"),
        ({"KAB_ROUNDS": "x"}, "environment variable KAB_ROUNDS: 'x' is not a whole number"),
        ({"KAB_ROUNDS": "1.5"}, "is not a whole number"),
        ({"KAB_FORCE": "perhaps"}, "is not true or false"),
        ({"KAB_TOLERANCE": "float16"}, "is not DTYPE=VALUE"),
        ({"KAB_TOLERANCE": "float16=1,float16=2"}, "given twice"),
    ],
)
def test_a_bad_variable_is_refused(environ: dict[str, str], words: str) -> None:
    """The message names the variable."""
    with pytest.raises(ConfigError) as caught:
        environment_layer(environ)

    assert words in caught.value.message


def test_an_empty_variable_counts_as_unset() -> None:
    """So that a shell can switch one off for one command."""
    assert {} == environment_layer({"KAB_ROUNDS": ""}).values


def test_a_variable_names_the_file(tmp_path: Path) -> None:
    """`KAB_CONFIG` does what `--config` does, and `--config` wins."""
    file = _file(tmp_path, "num_workers = 5\n")

    assert 5 == resolve(environ={"KAB_CONFIG": str(file)}).settings.num_workers


def test_generators_have_their_own_tables(tmp_path: Path) -> None:
    """The keys in a generator's table belong to the generator."""
    file = _file(tmp_path, "[generators.mine]\nmodel = 'x'\n")

    resolved = resolve(config=file, environ={})

    assert {"mine": {"model": "x"}} == resolved.settings.generators
    assert f"file:{file}" == resolved.origins["generators.mine.model"]


def test_arguments_of_the_python_api() -> None:
    """None means not given; an unknown name is refused with near matches."""
    resolved = resolve(argument_layer({"rounds": 2, "suite": None}), environ={})

    assert (2, "smoke") == (resolved.settings.evaluate.rounds, resolved.settings.selection.suite)
    assert "argument:rounds" == resolved.origins["evaluate.rounds"]
    with pytest.raises(ConfigError, match="unknown setting 'round'") as caught:
        argument_layer({"round": 2})
    assert caught.value.hint.startswith("near matches: rounds")


def test_a_suite_table_has_only_tolerances(tmp_path: Path) -> None:
    """Anything else in `suites.toml` is refused."""
    with pytest.raises(ConfigError, match=r"unknown key 'smoke\.rounds'"):
        load_suite(_file(tmp_path, "[smoke]\nrounds = 3\n"), "smoke")


def test_the_resolved_settings_are_json() -> None:
    """Stored with each run, so that they must survive a round trip; each value has an origin."""
    resolved = resolve(flag_layer({"tolerance": {"float16": 0.5}}), environ={"KAB_OPS": "relu"})

    assert resolved.to_json() == json.loads(json.dumps(resolved.to_json(), allow_nan=False))
    assert [row.origin for row in settings_rows(resolved) if row.path == "selection.ops"] == ["env:KAB_OPS"]
    assert set(BY_PATH) - {"tolerance"} | {"tolerance.float16"} == set(resolved.origins)


def test_shipped_files_are_toml() -> None:
    """Every shipped file can be read."""
    files = sorted(configs_dir().glob("*.toml"))

    assert {"kab.toml", "suites.toml"} <= {file.name for file in files}
    for file in files:
        read_toml(file)


def test_commas_inside_brackets_do_not_end_a_name() -> None:
    """A name may be a call with arguments."""
    assert ["a:B(1, [2, 3])(c(4, 5))", "d", "e(f,g)"] == split_names(
        ["a:B(1, [2, 3])(c(4, 5)), d", "d,,e(f,g)"]
    )
    assert ["a)", "b"] == split_names(["a),b"])
