"""The raw files of a date, as they are listed."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import PurePath
from typing import Any

import fsspec

from iceberg_assets.errors import RawStoreError, SourceError
from iceberg_assets.profiles import Store, on_s3
from iceberg_assets.profiles.place import one_spelling
from iceberg_assets.profiles.store import failures, file_system
from iceberg_assets.profiles.values import without_secrets
from iceberg_assets.spec import TableSpec


@dataclass(frozen=True, order=True)
class RawFile:
    """One raw file as it was listed.

    Attributes:
        path: absolute; in an object store ``s3://bucket/key``, however ``source.path`` spells it.
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


def landed(spec: TableSpec, day: date, store: Store | None = None) -> tuple[RawFile, ...]:
    """The files under a date, by path. Names with a leading dot or underscore are not data.

    Args:
        store: the profile's, where the raw files lie in one.

    Raises:
        SourceError: the store does not answer, or refuses.
    """
    assert spec.source is not None
    pattern = spec.source.pattern(day)
    files = file_system(store, pattern)
    depth = len(PurePath(spec.source.root).parts)
    found = []
    for path, of_name in sorted(_listed(files, pattern, store).items()):
        whole = one_spelling(f"s3://{path}") if on_s3(pattern) else path
        if any(part[0] in "._" for part in PurePath(whole).parts[depth:]):
            continue
        info = _followed(files, path) if of_name.get("islink") else of_name
        if info["type"] == "file":
            found.append(RawFile(whole, info["size"], _version(info), day, _modified(info)))
    return tuple(found)


def _listed(files: fsspec.AbstractFileSystem, pattern: str, store: Store | None) -> Mapping[str, Mapping[str, Any]]:
    try:
        listed: Mapping[str, Mapping[str, Any]] = files.glob(one_spelling(pattern), detail=True)
    except FileNotFoundError:  # The bucket: a folder is none before there is a file in it.
        return {}
    except failures(pattern) as error:
        said = without_secrets(str(error), store) if store else str(error)
        raise RawStoreError(
            f"{pattern} cannot be listed ({type(error).__name__}: {said:.300}): see endpoint, keys and buckets of the "
            "profile's store"
        ) from None
    return listed


def _followed(files: fsspec.AbstractFileSystem, path: str) -> Mapping[str, Any]:
    """What a symbolic link leads to. One that leads nowhere is a file nobody can read, which is then said."""
    try:
        info: Mapping[str, Any] = files.info(path)
    except FileNotFoundError:
        return {"type": "file", "size": 0, "mtime": 0}
    return info


def raw_files(spec: TableSpec, day: date, store: Store | None = None) -> tuple[RawFile, ...]:
    """The files under a date, at least one.

    Raises:
        SourceError: there is none, or the store does not answer.
    """
    assert spec.source is not None
    if found := landed(spec, day, store):
        return found
    pattern = spec.source.pattern(day)
    folder = pattern.rpartition("/")[0]
    what = "has no file" if _listed(file_system(store, pattern), folder, store) else "does not exist: no file"
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
