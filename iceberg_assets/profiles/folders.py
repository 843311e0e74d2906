"""Folders and files of a Hadoop catalog: on local disk, or in an object store with S3's interface."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import fsspec
from pyiceberg.io.fsspec import FsspecFileIO
from typing_extensions import override

from iceberg_assets.profiles.place import local_path


class Folders(Protocol):
    """What a Hadoop catalog asks of a file system. Places are spelled as locations of Iceberg are."""

    def folders(self, place: str) -> list[str] | None:
        """Names of the folders in one; None: there is no such folder."""

    def files(self, place: str) -> list[str]:
        """Names of the files in a folder; none where it does not exist."""

    def make(self, place: str) -> None:
        """Make a folder, and those that hold it."""

    def remove(self, place: str) -> None:
        """Remove a folder with all that is in it."""

    def create(self, place: str, content: bytes) -> bool:
        """Write a file that is whole once it is there; False: there is one of that name already."""

    def replace(self, place: str, content: bytes) -> None:
        """Write a file, over one of that name."""


def folders_of(place: str, properties: dict[str, str]) -> Folders:
    """Those of a warehouse.

    Args:
        properties: of the PyIceberg catalog.
    """
    return LocalFolders() if local_path(place) else ObjectFolders(FsspecFileIO(properties).get_fs("s3"))


class LocalFolders(Folders):
    """On local disk."""

    @override
    def folders(self, place: str) -> list[str] | None:
        try:
            return sorted(one.name for one in _path(place).iterdir() if one.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            return None

    @override
    def files(self, place: str) -> list[str]:
        try:
            return sorted(one.name for one in _path(place).iterdir() if one.is_file())
        except (FileNotFoundError, NotADirectoryError):
            return []

    @override
    def make(self, place: str) -> None:
        _path(place).mkdir(parents=True, exist_ok=True)

    @override
    def remove(self, place: str) -> None:
        fsspec.filesystem("file").rm(str(_path(place)), recursive=True)

    @override
    def create(self, place: str, content: bytes) -> bool:
        written = _written(_path(place), content)
        try:
            # Unlike a rename, a link never takes the place of what is there.
            os.link(written, _path(place))
        except FileExistsError:
            return False
        finally:
            written.unlink()
        return True

    @override
    def replace(self, place: str, content: bytes) -> None:
        path = _path(place)
        written = _written(path, content)
        # Hadoop believes its checksum beside the file, which is of what was there before.
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        written.replace(path)


def _path(place: str) -> Path:
    path = local_path(place)
    assert path is not None
    return Path(path)


def _written(beside: Path, content: bytes) -> Path:
    """A file of another name in the same folder, on disk to its last byte."""
    beside.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=beside.parent, prefix=".", suffix=".tmp", delete=False) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return Path(file.name)


class ObjectFolders(Folders):
    """In an object store: a folder is what keys begin with, or an empty object whose key ends with a slash."""

    def __init__(self, files: fsspec.AbstractFileSystem) -> None:
        self._files = files

    @override
    def folders(self, place: str) -> list[str] | None:
        found = self._listed(place)
        return None if found is None else sorted(name for name, kind in found.items() if kind == "directory")

    @override
    def files(self, place: str) -> list[str]:
        return sorted(name for name, kind in (self._listed(place) or {}).items() if kind == "file")

    def _listed(self, place: str) -> dict[str, str] | None:
        try:
            listed = self._files.ls(place, detail=True, refresh=True)
        except FileNotFoundError:
            return None
        names = {one["name"].rstrip("/").rpartition("/")[2]: one["type"] for one in listed}
        # The folder's own marker is among them.
        own = place.rstrip("/").rpartition("/")[2]
        return {name: kind for name, kind in names.items() if name != own or kind == "directory"}

    @override
    def make(self, place: str) -> None:
        bucket, key = _key(place)
        self._files.call_s3("put_object", Bucket=bucket, Key=f"{key}/", Body=b"")

    @override
    def remove(self, place: str) -> None:
        self._files.invalidate_cache()
        found = self._files.find(place, withdirs=True, detail=True)
        folders = [name for name, one in found.items() if one["type"] == "directory"]
        self._files.rm(place, recursive=True)
        # Some stores keep folders as such, and have to be told of each; to the others this says nothing.
        for folder in (*sorted(folders, reverse=True), "/".join(_key(place))):
            bucket, _, key = folder.partition("/")
            with suppress(OSError):
                self._files.call_s3("delete_object", Bucket=bucket, Key=f"{key}/")

    @override
    def create(self, place: str, content: bytes) -> bool:
        try:
            self._files.pipe_file(place, content, mode="create")
        except OSError:
            self._files.invalidate_cache()
            # Refused; unless it was sent twice, since the first answer was lost, and is there as it was sent.
            if not self._files.exists(place):
                raise
            return bool(self._files.cat_file(place) == content)
        return True

    @override
    def replace(self, place: str, content: bytes) -> None:
        self._files.pipe_file(place, content)


def _key(place: str) -> tuple[str, str]:
    parts = urlsplit(place)
    return parts.netloc, parts.path.strip("/")
