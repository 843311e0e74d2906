"""Avro object container files read from their specification, as far as Iceberg's manifests need it."""

import json
import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

Names = dict[str, Any]


def records(path: Path) -> Iterator[Any]:
    """The records of a file, each a dict."""
    stream = BytesIO(path.read_bytes())
    assert stream.read(4) == b"Obj\x01", f"{path} is no Avro file"
    meta: dict[str, bytes] = {}
    while count := _long(stream):
        if count < 0:
            _long(stream)
        for _ in range(abs(count)):
            key = _bytes(stream).decode()
            meta[key] = _bytes(stream)
    sync, schema, names = stream.read(16), json.loads(meta["avro.schema"]), Names()
    codec = meta.get("avro.codec", b"null").decode()
    while stream.tell() < len(stream.getbuffer()):
        count, block = _long(stream), _bytes(stream)
        rows = BytesIO(zlib.decompress(block, -15) if codec == "deflate" else block)
        assert codec in ("deflate", "null"), codec
        for _ in range(count):
            yield _read(rows, schema, names)
        assert stream.read(16) == sync


def _read(stream: BytesIO, schema: Any, names: Names) -> Any:  # noqa: PLR0911 (a kind of schema each)
    if isinstance(schema, list):
        return _read(stream, schema[_long(stream)], names)
    if isinstance(schema, str):
        return _READERS[schema](stream) if schema in _READERS else _read(stream, names[schema], names)
    if "name" in schema:
        names[schema["name"]] = schema
    match schema["type"]:
        case "record":
            return {field["name"]: _read(stream, field["type"], names) for field in schema["fields"]}
        case "array":
            return [_read(stream, schema["items"], names) for _ in _blocks(stream)]
        case "map":
            return {_bytes(stream).decode(): _read(stream, schema["values"], names) for _ in _blocks(stream)}
        case "fixed":
            return stream.read(schema["size"])
        case "enum":
            return schema["symbols"][_long(stream)]
        case other:
            return _read(stream, other, names)


def _blocks(stream: BytesIO) -> Iterator[None]:
    while count := _long(stream):
        if count < 0:
            _long(stream)
        for _ in range(abs(count)):
            yield


def _long(stream: BytesIO) -> int:
    shift = number = 0
    while True:
        (byte,) = stream.read(1)
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1)


def _bytes(stream: BytesIO) -> bytes:
    return stream.read(_long(stream))


_READERS = {
    "null": lambda _: None,
    "boolean": lambda stream: stream.read(1) == b"\x01",
    "int": _long,
    "long": _long,
    "float": lambda stream: struct.unpack("<f", stream.read(4))[0],
    "double": lambda stream: struct.unpack("<d", stream.read(8))[0],
    "bytes": _bytes,
    "string": lambda stream: _bytes(stream).decode(),
}
