"""The files below a folder, as the store lists them, and the one spelling that a path is compared by."""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from pyarrow.fs import FileInfo, FileSelector, FileType
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table

from iceberg_assets.profiles import local_path


class Place(NamedTuple):
    """A path taken apart.

    Attributes:
        scheme, authority: empty where the path has none.
        path: of a local file with the symbolic links of its folder followed.
    """

    scheme: str
    authority: str
    path: str

    @property
    def prefix(self) -> str:
        """Scheme and authority, as a person writes them."""
        return f"{self.scheme}://{self.authority}"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that the store has.

    Attributes:
        path: as the table's location begins.
        size: in bytes.
        modified_at: in UTC.
    """

    path: str
    size: int
    modified_at: datetime


def place_of(path: str) -> Place:
    """Where a file is: ``file:/a/b``, ``file:///a/b`` and ``/a/b`` are one place."""
    scheme, colon, rest = path.partition(":")
    if not colon or "/" in scheme:
        scheme, rest = "", path
    authority = ""
    if rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    if scheme in ("", "file") and not authority:
        folder, _, name = rest.rpartition("/")
        rest = f"{_real(folder)}/{name}"
    return Place(scheme.lower(), authority, rest)


def aliases(path: str) -> Iterator[str]:
    """Further places that hold a file's bytes: the target of a link, and the name that a URL would spell otherwise."""
    if (local := local_file(path)) is not None:
        if local.is_symlink():
            yield os.path.realpath(local)
        if "%" in path:
            yield place_of(unquote(path)).path


def local_file(path: str) -> Path | None:
    """A file on local disk, itself a link or not; None for one elsewhere."""
    place = place_of(path)
    return Path(place.path) if place.scheme in ("", "file") and not place.authority else None


@lru_cache(maxsize=100_000)
def _real(folder: str) -> str:
    return os.path.realpath(folder).rstrip("/")


def files_below(io: PyArrowFileIO, folder: str, shown: Collection[str] = ()) -> Iterator[StoredFile]:
    """The files below a folder, but none whose name, or a folder of it, is hidden: begins with ``_`` or ``.``.

    That is what Iceberg's own listing leaves out (``PartitionAwareHiddenPathFilter``).

    Args:
        shown: fields of partition specs. Folders of one are seen even where the field's name begins so.
    """
    root = folder.rstrip("/")
    seen = tuple(f"{name}=" for name in shown)
    for info, within in _listed(io, root):
        parts = within.split("/")
        if not any(part[:1] in ("_", ".") and not part.startswith(seen) for part in parts):
            yield StoredFile(f"{root}/{within}", info.size, info.mtime.astimezone(UTC))


def _listed(io: PyArrowFileIO, root: str) -> Iterator[tuple[FileInfo, str]]:
    """What the store says of each file, and its path within the folder."""
    scheme, authority, path = io.parse_location(root, io.properties)
    # A URL's path ends at a # or ?, and a local name may have them.
    path = local_path(root) or path
    store = io.fs_by_scheme(scheme, authority)
    for info in store.get_file_info(FileSelector(path, recursive=True, allow_not_found=True)):
        if info.type == FileType.File:
            yield info, info.path.removeprefix(path).lstrip("/")


def file_io(table: Table) -> PyArrowFileIO:
    """The table's store by PyArrow, which lists as well as it reads."""
    return table.io if isinstance(table.io, PyArrowFileIO) else PyArrowFileIO(table.io.properties)


def delete(table: Table, path: str) -> None:
    """Delete one file."""
    # PyArrow ends a path at # or ?, and would delete another file, or none.
    if (local := local_file(path)) is not None:
        local.unlink(missing_ok=True)
        checksum(local).unlink(missing_ok=True)
    else:
        file_io(table).delete(path)


def checksum(local: Path) -> Path:
    """Hadoop's checksum of a local file, which goes where the file goes."""
    return local.with_name(f".{local.name}.crc")
