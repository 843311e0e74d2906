"""Places where files are kept: whether one holds another, however the two are spelled."""

import os
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit


def overlap(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether one of some places is, holds, or lies in one of others."""
    here, there = ([_place(one) for one in places] for places in (some, others))
    return any(one.is_relative_to(other) or other.is_relative_to(one) for one in here for other in there)


def inside(inner: str, outer: str) -> bool:
    """Whether a place is another, or lies in it."""
    return _place(inner).is_relative_to(_place(outer))


def local_path(location: str) -> str | None:
    """A place on local disk, symbolic links followed; None for one elsewhere."""
    path = re.sub(r"^file:(//)?", "", location)
    if re.match(r"\w+:/", path):
        return None
    # Iceberg writes names as they are, other tools as a URL would have them.
    return os.path.realpath(path if os.path.lexists(path) else unquote(path))


def one_spelling(path: str) -> str:
    """The path of a file, by which it is known for good: whoever writes ``s3a`` means the file that others call s3."""
    return re.sub(r"^s3[an]://", "s3://", path)


def _place(location: str) -> PurePosixPath:
    """One spelling for one place: ``file:/a`` is ``file:///a``, s3a is s3, and a symbolic link is its target."""
    if (path := local_path(location)) is not None:
        return PurePosixPath(f"/file/{path}")
    # A path's parts, put together again, leave one slash of an object store's two.
    parts = urlsplit(re.sub(r"^(\w+):/(?!/)", r"\1://", location))
    scheme = {"s3a": "s3", "s3n": "s3"}.get(parts.scheme, parts.scheme)
    return PurePosixPath(f"/{scheme}/{parts.netloc}/{parts.path}")
