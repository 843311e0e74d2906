"""Orphans set aside: moved to a folder that no reader and no listing of Iceberg looks into, and back.

A file lies below ``<location>/_iceberg_assets_orphans/<when it was moved>/``, by the path that it had within the
location; so nothing else has to be remembered to put it back, or to tell when its time is up.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table

from iceberg_assets.errors import OrphansError
from iceberg_assets.tables.quarantine import move
from iceberg_assets.tables.stored import StoredFile, checksum, file_io, files_below, local_file, place_of

FOLDER = "_iceberg_assets_orphans"
"""Its underscore hides it."""

_MOMENT = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True)
class Aside:
    """A file that was set aside.

    Attributes:
        since: when it was moved, in UTC.
        origin: where it was.
    """

    file: StoredFile
    since: datetime
    origin: str


def set_aside(table: Table, path: str, now: datetime) -> str:
    """Move an orphan out of the way; returns its place there."""
    within = _within(table, path)
    target = f"{_folder(table)}/{now.astimezone(UTC):{_MOMENT}}/{within}"
    _move(file_io(table), path, target)
    return target


def files_aside(table: Table) -> Iterator[Aside]:
    """The files that were set aside; anything else in the folder is none of ours and left alone."""
    folder, location = _folder(table), table.location().rstrip("/")
    fields = {field.name for spec in table.metadata.partition_specs for field in spec.fields}
    for file in files_below(file_io(table), folder, fields):
        moment, _, within = file.path.removeprefix(f"{folder}/").partition("/")
        try:
            since = datetime.strptime(moment, _MOMENT).replace(tzinfo=UTC)
        except ValueError:
            continue
        yield Aside(file, since, f"{location}/{within}")


def put_back(table: Table, path: str) -> str:
    """Move a file back to the very path that it had; returns that.

    It counts as new there, so that the next search does not take it again at once.

    Raises:
        OrphansError: it is not one that was set aside, or something is in its place.
    """
    found = next((one for one in files_aside(table) if place_of(one.file.path) == place_of(path)), None)
    if found is None:
        raise OrphansError(f"{path} is not among the files set aside in {_folder(table)}")
    local = local_file(found.origin)
    if local.exists() if local is not None else file_io(table).new_input(found.origin).exists():
        raise OrphansError(f"{path} cannot be put back: {found.origin} is there already; move that away first")
    _move(file_io(table), found.file.path, found.origin)
    if local is not None:
        os.utime(local)
    return found.origin


def _move(io: PyArrowFileIO, source: str, target: str) -> None:
    here, there = local_file(source), local_file(target)
    if here is not None and there is not None:
        move(here, there)
        if checksum(here).exists():
            checksum(here).replace(checksum(there))
    else:
        copy_then_delete(io, source, target)


def copy_then_delete(io: PyArrowFileIO, source: str, target: str) -> None:
    """Move a file in a store that knows no rename. Killed on the way, it is in its old place, whole.

    Raises:
        OrphansError: the copy is not as long as the file; the file is where it was.
    """
    with io.new_input(source).open() as taken, io.new_output(target).create(overwrite=True) as given:
        shutil.copyfileobj(taken, given)
    if len(io.new_input(target)) != len(io.new_input(source)):
        raise OrphansError(f"{source} was not copied whole to {target}; it is where it was")
    io.delete(source)


def _folder(table: Table) -> str:
    return f"{table.location().rstrip('/')}/{FOLDER}"


def _within(table: Table, path: str) -> str:
    return place_of(path).path.removeprefix(place_of(f"{table.location().rstrip('/')}/").path)
