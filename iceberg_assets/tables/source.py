"""The raw files of a date, and what their footers say before Spark reads them."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePath
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from iceberg_assets.errors import SourceError
from iceberg_assets.spec import TableSpec

_NAMED = 5
"""So many files are named in a message; the rest is counted."""


@dataclass(frozen=True, order=True)
class RawFile:
    """One raw file as it was listed.

    Attributes:
        path: absolute.
        size: in bytes.
        version: changes whenever the content does: an ETag, or the modification time in nanoseconds.
        day: the date that it landed under.
    """

    path: str
    size: int
    version: str
    day: date


@dataclass(frozen=True)
class Footer:
    """What a Parquet footer says."""

    file: RawFile
    columns: tuple[str, ...]
    rows: int


def raw_files(spec: TableSpec, day: date) -> tuple[RawFile, ...]:
    """The files that landed under a date, by path. Names with a leading dot or underscore are not data.

    Raises:
        SourceError: there is none.
    """
    assert spec.source is not None
    pattern = spec.source.pattern(day)
    files, glob = fsspec.core.url_to_fs(pattern)
    depth = len(PurePath(spec.source.root).parts)
    listed: Mapping[str, Mapping[str, Any]] = files.glob(glob, detail=True)
    found = tuple(
        RawFile(path, info["size"], _version(info), day)
        for path, info in sorted(listed.items())
        if info["type"] == "file" and not any(part[0] in "._" for part in PurePath(path).parts[depth:])
    )
    if not found:
        folder = str(PurePath(pattern).parent)
        what = "has no file" if files.glob(folder) else "does not exist: no file"
        raise SourceError(f"{day}: the folder {folder} {what} that matches {pattern}; land the files, then try again")
    return found


def _version(info: Mapping[str, Any]) -> str:
    return str(info.get("ETag") or round(info["mtime"] * 1_000_000_000))


def read_footers(files: Iterable[RawFile]) -> tuple[Footer, ...]:
    """The footers of the files, in their order.

    Raises:
        SourceError: names the files that are empty, truncated or not Parquet, or that have columns which differ in case
            only, so that Spark cannot tell them apart.
    """
    footers, bad = [], []
    for file in files:
        try:
            metadata = pq.read_metadata(file.path)
            columns = tuple(metadata.schema.to_arrow_schema().names)
        except (pa.ArrowException, OSError) as error:
            bad.append(f"{file.path} ({file.size} bytes) is not readable Parquet: {_first_line(error)}")
            continue
        bad += [
            f"{file.path}: columns {' and '.join(names)} differ in case only" for names in differing_in_case(columns)
        ]
        footers.append(Footer(file, columns, metadata.num_rows))
    if bad:
        raise SourceError(
            f"{_some(bad)}. Nothing of this date was appended; repair or remove the file (bad_files: fail)"
        )
    return tuple(footers)


def check_columns(footers: Sequence[Footer], expected: Mapping[str, bool]) -> None:
    """Refuse files that do not fit the table's raw columns: ``expected`` says of each whether it must have a value.

    Raises:
        SourceError: names file and column: one that the table lacks, or a required one that the file lacks.
    """
    wrong = [f"{footer.file.path}: {mistake}" for footer in footers for mistake in _mistakes(footer, expected)]
    if wrong:
        raise SourceError(f"{_some(wrong)}. Nothing of this date was appended (new_columns: fail)")


def _mistakes(footer: Footer, expected: Mapping[str, bool]) -> list[str]:
    return [
        *(
            f"column '{name}' is not in the table{nearest(name, expected)}; add it to the table, or leave it out"
            for name in footer.columns
            if name not in expected
        ),
        *(
            f"column '{name}' is missing, and the table requires it"
            for name, required in expected.items()
            if required and name not in footer.columns
        ),
    ]


def differing_in_case(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups of names that are one to an engine that does not look at case."""
    names = list(names)
    often = [folded for folded, count in Counter(name.casefold() for name in names).items() if count > 1]
    return [tuple(f"'{name}'" for name in names if name.casefold() == folded) for folded in often]


def nearest(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` where a known name is near."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _some(lines: Sequence[str]) -> str:
    more = f"; and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
    return "; ".join(lines[:_NAMED]) + more


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
