"""What is there already and no table's, brought in: ``add_files`` and ``register_table``, foretold and measured."""

import re
from collections.abc import Iterator, Mapping
from typing import cast

from pyiceberg.io import load_file_io
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.metadata import TableMetadata

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import TableHealth
from iceberg_assets.maintenance.garbage import located_in
from iceberg_assets.maintenance.maintained import health_of
from iceberg_assets.maintenance.measure import load
from iceberg_assets.maintenance.preview import Preview
from iceberg_assets.profiles import Profile, overlap
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.procedure import Value
from iceberg_assets.spec.units import format_bytes, format_count
from iceberg_assets.tables.stored import StoredFile, file_io, files_below, place_of
from iceberg_assets.tables.target import load_target

_FOLDER = re.compile(r"^`?(?:parquet|orc|avro)`?\.`(.+)`$", re.IGNORECASE)
_THEY_STAY = (
    "the files stay where they lie, and are the table's from then on: a rewrite and the expiry after it delete them"
)


def foretell_add_files(profile: Profile, spec: TableSpec, values: Mapping[str, Value]) -> Preview:
    """Which files would be added. Of a table of the session catalog Spark alone knows.

    Raises:
        ConfigurationError: raw files of the table land there, which an append would bring a second time; the table has
            some of the files already; or its partitions are not those of the folders.
    """
    source = str(values["source_table"])
    if not (found := _FOLDER.match(source)):
        return Preview("add_files", True, f"the files of {source} would be added", notes=(_THEY_STAY,))
    folder = found[1]
    if spec.source and overlap([folder], [spec.source.root]):
        raise ConfigurationError(
            f"raw files of {spec.name} land in {spec.source.root}: materialize their dates instead, for the ledger "
            "does not know what add_files brings, and would bring it again"
        )
    files = list(_files(profile, spec, folder, cast("Mapping[str, str]", values.get("partition_filter", {}))))
    health = health_of(profile, spec)
    folders = {part.partition("=")[0] for one in files for part in _within(one, folder)[:-1] if "=" in part}
    if files and folders not in _identities(health):
        raise ConfigurationError(
            f"the folders of {folder} are by {', '.join(sorted(folders)) or 'nothing'}, and {spec.name} has no spec of "
            "just these columns as they are: add_files reads partitions off the folders' names alone"
        )
    known = {place_of(file.path).path for file in health.files}
    double = [file.path for file in files if place_of(file.path).path in known]
    if double and values.get("check_duplicate_files", True):
        raise ConfigurationError(f"{spec.name} has {len(double)} of the files of {folder} already: {double[0]}")
    bytes_ = sum(file.size for file in files)
    reason = f"{format_count(len(files), 'file')} of {folder}, {format_bytes(bytes_)}, would be added"
    return Preview("add_files", bool(files), reason, adds={one.path: one.size for one in files}, notes=(_THEY_STAY,))


def _files(profile: Profile, spec: TableSpec, folder: str, only: Mapping[str, str]) -> Iterator[StoredFile]:
    wanted = {f"{name}={value}" for name, value in only.items()}
    for file in files_below(file_io(load(profile, spec)), folder):
        if wanted <= set(_within(file, folder)):
            yield file


def _within(file: StoredFile, folder: str) -> list[str]:
    return file.path.removeprefix(folder.rstrip("/")).strip("/").split("/")


def _identities(health: TableHealth) -> list[set[str | None]]:
    """The columns of each partition spec that has columns as they are, and nothing else."""
    return [
        {health.schema.find_column_name(field.source_id) for field in fields}
        for fields in health.specs.values()
        if all(field.transform == "identity" for field in fields)
    ]


def foretell_register(profile: Profile, spec: TableSpec, values: Mapping[str, Value]) -> Preview:
    """What the metadata file holds.

    Raises:
        ConfigurationError: the catalog has a table of the name; the file cannot be read; or another table lies there.
    """
    path = str(values["metadata_file"])
    if load_target(profile, spec) is not None:
        raise ConfigurationError(f"the catalog of profile '{profile.name}' has a table {spec.name} already")
    metadata = _read(profile, path)
    if others := located_in(profile, metadata.location, metadata.properties):
        raise ConfigurationError(
            f"{path} is of a table at {metadata.location}, and {'; '.join(others)}: two names of the same files "
            "would delete each other's. Drop the other one first, without purge"
        )
    snapshot = metadata.current_snapshot()
    totals = snapshot.summary if snapshot and snapshot.summary else {}
    held = f"{totals.get('total-data-files', '?')} data files and {totals.get('total-records', '?')} rows"
    reason = f"{spec.name} would be the table {metadata.table_uuid} with {held if snapshot else 'no snapshot'}"
    return Preview("register_table", True, reason, details={"iceberg/head_after": str(metadata.current_snapshot_id)})


def _read(profile: Profile, path: str) -> TableMetadata:
    try:
        io = load_file_io(profile.pyiceberg().properties, path)
        return FromInputFile.table_metadata(io.new_input(path))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"metadata_file: {path} cannot be read as a table's metadata: {error}") from error
