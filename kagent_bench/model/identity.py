"""Identity is content: canonical bytes and their hashes, and the JSON form of a case."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from typing import Any

from kagent_bench.model.case import (
    Case,
    Computation,
    IntegerValues,
    LiteralValues,
    Source,
    StorageSpec,
    SymbolSpec,
    TensorSpec,
    UniformValues,
    Value,
    ValueRule,
)
from kagent_bench.model.names import OperatorName, ProblemName, parse_name

ID_DIGITS = 12
"""Hexadecimal digits of a case id; 48 bits keep a collision among a million cases under 0.2 %."""


def canonical(value: object) -> bytes:
    """Return the canonical JSON bytes of a JSON value: sorted keys, no blanks, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def digest(value: object) -> str:
    """Return the SHA-256 of a JSON value's canonical bytes, as hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def source_digest(source: bytes) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal digits."""
    return hashlib.sha256(source).hexdigest()


def make_case(
    operator: ProblemName,
    args: tuple[Value, ...],
    kwargs: tuple[tuple[str, Value], ...],
    storages: tuple[StorageSpec, ...],
    *,
    dtype: str,
    origin: str,
    count: int = 1,
    sources: tuple[Source, ...] = (),
    computed: tuple[Computation, ...] = (),
    program_sha256: str = "",
) -> Case:
    """Build a case and give it the id of its content; that of a module includes its program."""
    case = Case(
        id="",
        operator=operator,
        args=args,
        kwargs=kwargs,
        storages=storages,
        computed=computed,
        dtype=dtype,
        origin=origin,
        count=count,
        sources=sources,
    )
    return _with_id(case, program_sha256)


def _with_id(case: Case, program_sha256: str) -> Case:
    encoded = encode_case(case)
    content = {key: encoded[key] for key in ("op", "args", "kwargs")}
    # Not the stored form of literals: what a compressor makes of them differs between its builds.
    content["storages"] = [_storage_content(storage) for storage in case.storages]
    if case.computed:
        content["computed"] = encoded["computed"]
    if program_sha256:
        content["program"] = program_sha256
    return Case(
        id=digest(content)[:ID_DIGITS],
        operator=case.operator,
        args=case.args,
        kwargs=case.kwargs,
        storages=case.storages,
        computed=case.computed,
        dtype=case.dtype,
        origin=case.origin,
        count=case.count,
        sources=case.sources,
    )


def encode_case(case: Case) -> dict[str, Any]:
    """Return the JSON form of a case; ``decode_case`` is its inverse."""
    return {
        "id": case.id,
        "op": str(case.operator),
        "args": [encode_value(value) for value in case.args],
        "kwargs": {name: encode_value(value) for name, value in case.kwargs},
        "storages": [encode_storage(storage) for storage in case.storages],
        "dtype": case.dtype,
        "origin": case.origin,
        "count": case.count,
        **({"sources": [_encode_source(item) for item in case.sources]} if case.sources else {}),
        **({"computed": [_encode_computation(item) for item in case.computed]} if case.computed else {}),
    }


def decode_case(data: dict[str, Any]) -> Case:
    """Read the JSON form of a case.

    Raises:
        ValueError, KeyError, TypeError: the data is not a case.
    """
    return Case(
        id=data["id"],
        operator=parse_name(data["op"]),
        args=tuple(decode_value(value) for value in data["args"]),
        kwargs=tuple((name, decode_value(value)) for name, value in data["kwargs"].items()),
        storages=tuple(decode_storage(storage) for storage in data["storages"]),
        dtype=data["dtype"],
        origin=data["origin"],
        count=data["count"],
        sources=tuple(
            Source(model, count, tuple(modules)) for model, count, modules in data.get("sources", ())
        ),
        computed=tuple(_decode_computation(item) for item in data.get("computed", ())),
    )


def encode_value(value: Value) -> Any:
    """Return the JSON form of an argument; what JSON lacks becomes a one-key object."""
    if isinstance(value, TensorSpec):
        tensor = {
            "storage": value.storage,
            "shape": value.shape,
            "stride": value.stride,
            "offset": value.offset,
        }
        return {
            "tensor": {key: list(item) if isinstance(item, tuple) else item for key, item in tensor.items()}
        }
    if isinstance(value, SymbolSpec):
        return {value.kind: value.name}
    if isinstance(value, tuple):
        return [encode_value(item) for item in value]
    if isinstance(value, complex):
        return {"complex": [encode_value(value.real), encode_value(value.imag)]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def decode_value(data: Any) -> Value:
    """Read the JSON form of an argument."""
    if isinstance(data, list):
        return tuple(decode_value(item) for item in data)
    if not isinstance(data, dict):
        return data  # type: ignore[no-any-return]
    ((kind, content),) = data.items()
    if kind == "tensor":
        return TensorSpec(
            storage=content["storage"],
            shape=tuple(content["shape"]),
            stride=tuple(content["stride"]),
            offset=content["offset"],
        )
    if kind == "complex":
        real, imaginary = (decode_value(part) for part in content)
        return complex(float(real), float(imaginary))  # type: ignore[arg-type]
    if kind == "float":
        return float(content)
    return SymbolSpec(kind=kind, name=content)


def encode_storage(storage: StorageSpec) -> dict[str, Any]:
    """Return the JSON form of a storage."""
    rule = storage.rule
    encoded: dict[str, Any]
    if isinstance(rule, LiteralValues):
        encoded = {"literal": base64.b64encode(zlib.compress(rule.data)).decode()}
    elif isinstance(rule, UniformValues):
        encoded = {"uniform": [encode_value(rule.low), encode_value(rule.high)]}
    else:
        encoded = {"integers": [rule.low, rule.high]}
    return {"dtype": storage.dtype, "numel": storage.numel, "values": encoded}


def _storage_content(storage: StorageSpec) -> dict[str, Any]:
    if isinstance(storage.rule, LiteralValues):
        values: Any = {"literal": source_digest(storage.rule.data)}
    else:
        values = encode_storage(storage)["values"]
    return {"dtype": storage.dtype, "numel": storage.numel, "values": values}


def decode_storage(data: dict[str, Any]) -> StorageSpec:
    """Read the JSON form of a storage."""
    ((kind, content),) = data["values"].items()
    rule: ValueRule
    if kind == "literal":
        rule = LiteralValues(data=zlib.decompress(base64.b64decode(content)))
    elif kind == "uniform":
        low, high = (decode_value(bound) for bound in content)
        rule = UniformValues(low=float(low), high=float(high))  # type: ignore[arg-type]
    else:
        rule = IntegerValues(low=content[0], high=content[1])
    return StorageSpec(dtype=data["dtype"], numel=data["numel"], rule=rule)


def _encode_source(source: Source) -> list[Any]:
    return [source.model, source.count, list(source.modules)]


def _encode_computation(computation: Computation) -> dict[str, Any]:
    return {
        "operator": str(computation.operator),
        "args": [encode_value(value) for value in computation.args],
        "output": computation.output,
        "target": encode_value(computation.target),
    }


def _decode_computation(data: dict[str, Any]) -> Computation:
    return Computation(
        operator=OperatorName.parse(data["operator"]),
        args=tuple(decode_value(value) for value in data["args"]),
        output=data["output"],
        target=decode_value(data["target"]),  # type: ignore[arg-type]
    )
