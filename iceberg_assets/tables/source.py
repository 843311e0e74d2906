"""The raw files of a date, as they are listed."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import PurePath
from typing import Any

import fsspec

from iceberg_assets.errors import SourceError
from iceberg_assets.spec import TableSpec


@dataclass(frozen=True, order=True)
class RawFile:
    """One raw file as it was listed.

    Attributes:
        path: absolute.
        size: in bytes.
        version: changes whenever the content does: an ETag, or the modification time in nanoseconds.
        day: the date that it landed under.
        modified: when it was last written, as it was listed; the ledger does not keep it.
    """

    path: str
    size: int
    version: str
    day: date
    modified: datetime | None = field(default=None, compare=False)


def landed(spec: TableSpec, day: date) -> tuple[RawFile, ...]:
    """The files under a date, by path. Names with a leading dot or underscore are not data."""
    assert spec.source is not None
    files, glob = fsspec.core.url_to_fs(spec.source.pattern(day))
    depth = len(PurePath(spec.source.root).parts)
    listed: Mapping[str, Mapping[str, Any]] = files.glob(glob, detail=True)
    found = []
    for path, of_name in sorted(listed.items()):
        if any(part[0] in "._" for part in PurePath(path).parts[depth:]):
            continue
        info = _followed(files, path) if of_name.get("islink") else of_name
        if info["type"] == "file":
            found.append(RawFile(path, info["size"], _version(info), day, _modified(info)))
    return tuple(found)


def _followed(files: fsspec.AbstractFileSystem, path: str) -> Mapping[str, Any]:
    """What a symbolic link leads to. One that leads nowhere is a file nobody can read, which is then said."""
    try:
        info: Mapping[str, Any] = files.info(path)
    except FileNotFoundError:
        return {"type": "file", "size": 0, "mtime": 0}
    return info


def raw_files(spec: TableSpec, day: date) -> tuple[RawFile, ...]:
    """The files under a date, at least one.

    Raises:
        SourceError: there is none.
    """
    assert spec.source is not None
    if found := landed(spec, day):
        return found
    pattern = spec.source.pattern(day)
    folder = str(PurePath(pattern).parent)
    files, _ = fsspec.core.url_to_fs(pattern)
    what = "has no file" if files.glob(folder) else "does not exist: no file"
    raise SourceError(f"{day}: the folder {folder} {what} that matches {pattern}; land the files, then try again")


def _version(info: Mapping[str, Any]) -> str:
    return str(info.get("ETag") or round(info["mtime"] * 1_000_000_000))


def _modified(info: Mapping[str, Any]) -> datetime | None:
    """When a file was last written: as a number of seconds on disk, as a time on object stores."""
    when = info.get("mtime", info.get("LastModified"))
    return datetime.fromtimestamp(when, UTC) if isinstance(when, int | float) else when


def differing_in_case(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups of names that are one to an engine that does not look at case."""
    names = list(names)
    often = [folded for folded, count in Counter(name.casefold() for name in names).items() if count > 1]
    return [tuple(f"'{name}'" for name in names if name.casefold() == folded) for folded in often]


def nearest(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` where a known name is near."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
