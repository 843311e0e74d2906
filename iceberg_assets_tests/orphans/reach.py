"""What is reachable from a table's metadata, by the table specification: JSON and Avro, nothing of the product."""

import json
import os
import re
from pathlib import Path
from typing import Any

from iceberg_assets_tests.orphans.avro import records

_DELETED = 2


def plain(path: str) -> str:
    """A local path without whatever scheme it has."""
    return re.sub(r"^[a-z0-9]+:(//(?=/))?", "", path)


def reachable(metadata_location: str) -> set[str]:
    """Every file that is alive, as local paths with all links followed.

    Args:
        metadata_location: the metadata file that the catalog points to.
    """
    metadata = json.loads(Path(plain(metadata_location)).read_bytes())
    paths = {metadata_location, f"{metadata['location']}/metadata/version-hint.text"}
    # Each snapshot that is listed can be read, whether a branch or tag leads to it or not.
    for snapshot in metadata["snapshots"]:
        paths |= files_of(snapshot)
    paths |= {one["metadata-file"] for one in metadata.get("metadata-log", ())}
    for kind in ("statistics", "partition-statistics"):
        paths |= {one["statistics-path"] for one in metadata.get(kind, ())}
    return {os.path.realpath(plain(path)) for path in paths}


def files_of(snapshot: dict[str, Any]) -> set[str]:
    """The manifest list of a snapshot, its manifests, and the data and delete files that live in them."""
    paths = {snapshot["manifest-list"]}
    for manifest in records(Path(plain(snapshot["manifest-list"]))):
        paths.add(manifest["manifest_path"])
        for entry in records(Path(plain(manifest["manifest_path"]))):
            if entry["status"] != _DELETED:
                paths.add(entry["data_file"]["file_path"])
    return paths
