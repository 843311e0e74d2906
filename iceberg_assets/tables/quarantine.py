"""Files that are not Parquet, moved out of the way and back: below ``_quarantine`` in the root of the raw files."""

import os
from pathlib import Path

from iceberg_assets.errors import SourceError
from iceberg_assets.spec import TableSpec

FOLDER = "_quarantine"
"""Its underscore keeps what is in it from being taken for data."""


def quarantine(spec: TableSpec, path: str) -> Path:
    """Move a raw file into quarantine; returns its place there.

    Raises:
        SourceError: another file of that name is there already, or the folder cannot be written to.
    """
    return move(Path(path), _folder(spec) / Path(path).relative_to(_root(spec)))


def quarantined(spec: TableSpec) -> tuple[Path, ...]:
    """The files in quarantine, by path."""
    return tuple(sorted(path for path in _folder(spec).rglob("*") if path.is_file()))


def restore(spec: TableSpec, path: Path) -> Path:
    """Move a file back to where it landed; returns that place.

    Raises:
        SourceError: it is not in quarantine, another file has landed in its place, or that cannot be written to.
    """
    if path not in quarantined(spec):
        raise SourceError(f"{path} is not in the quarantine {_folder(spec)}")
    return move(path, _root(spec) / path.relative_to(_folder(spec)))


def move(source: Path, target: Path) -> Path:
    """Rename a file to a name that nothing has; returns that.

    Raises:
        SourceError: something is there already, or it cannot be moved.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A rename would silently replace what is there: take the name first.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL))
    except FileExistsError as error:
        there = error.filename or target
        raise SourceError(f"{source} cannot be moved: {there} is there already; move that away first") from None
    except OSError as error:
        raise SourceError(
            f"{source} cannot be moved: {error}; it needs a folder there that can be written to"
        ) from None
    try:
        source.replace(target)
    except OSError as error:
        target.unlink()
        raise SourceError(f"{source} cannot be moved to {target}: {error}") from error
    return target


def _root(spec: TableSpec) -> Path:
    assert spec.source is not None
    return Path(spec.source.root)


def _folder(spec: TableSpec) -> Path:
    return _root(spec) / FOLDER
