"""Tables made of facts alone, for tests of pure decisions."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from pyiceberg.schema import Schema

from iceberg_assets.health import (
    DataFile,
    DeleteFile,
    Grain,
    Manifest,
    Ref,
    Rule,
    Snapshot,
    TableHealth,
    health_by_date,
    rule,
)
from iceberg_assets.health.by_date import small_files, small_files_waiting
from iceberg_assets.health.facts import delete_files
from iceberg_assets.spec import TableSpec

NOW = datetime(2024, 1, 31, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=30)
DAY = date(2024, 1, 10)
TARGET = 1000


def spec(**maintenance: object) -> TableSpec:
    return TableSpec.model_validate(
        {
            "table": "demo.flights",
            "dates": {"column": "ts", "start": "2024-01-01", "end": "2024-03-31"},
            "maintenance": maintenance,
        }
    )


def sized(**options: object) -> Rule:
    """The rule with a target of 1000 bytes: 750 to 1800 are left alone."""
    return rule(
        {"target-file-size-bytes": str(TARGET)} | {name.replace("_", "-"): str(options[name]) for name in options}, {}
    )


_numbers = iter(range(10**9))


def file(
    size: int = 100,
    day: date = DAY,
    *,
    last: date | None = None,
    spec_id: int = 0,
    partition: tuple[object, ...] | None = None,
    added: datetime | None = LONG_AGO,
    deletes: tuple[str, ...] = (),
    deleted_rows: int = 0,
    path: str | None = None,
) -> DataFile:
    """A data file of one day, or of the days up to ``last``, with ten rows, and delete files of one delete each."""
    return DataFile(
        path=path or f"file-{next(_numbers)}",
        size=size,
        rows=10,
        spec_id=spec_id,
        partition=(day.toordinal(),) if partition is None else partition,
        first=day,
        last=last or day,
        added_at=added,
        deletes=tuple(DeleteFile(name, 1) for name in deletes),
        deleted_rows=deleted_rows,
    )


def day_of(*days_and_counts: tuple[date, int], added: datetime | None = LONG_AGO) -> list[DataFile]:
    return [file(day=day, added=added) for day, count in days_and_counts for _ in range(count)]


def snapshot(number: int, age: timedelta, *, parent: int | None = None, operation: str = "append") -> Snapshot:
    return Snapshot(number, parent, number, NOW - age, operation, {})


def table(
    files: Sequence[DataFile] = (),
    *,
    of: TableSpec | None = None,
    grain: Grain = Grain.DATE,
    snapshots: Sequence[Snapshot] = (snapshot(1, timedelta(hours=1)),),
    refs: Sequence[Ref] | None = None,
    manifests: int = 1,
    properties: Mapping[str, str] | None = None,
    now: datetime = NOW,
) -> TableHealth:
    of = of or spec()
    properties = properties or {}
    dates = health_by_date(of, files, grain=grain, spec_id=0, properties=properties, now=now)
    settings = rule(of.maintenance.compact.options, properties)
    return TableHealth(
        table=of.table,
        uuid="uuid",
        location="file:///table",
        metadata_location="file:///table/metadata/1.json",
        format_version=2,
        properties=properties,
        schema=Schema(),
        spec_id=0,
        grain=grain,
        snapshot_id=snapshots[-1].id if snapshots else None,
        files=tuple(files),
        deletes=tuple(delete_files(files)),
        manifests=tuple(Manifest(f"manifest-{number}", 8000, 0, "data") for number in range(manifests)),
        snapshots=tuple(snapshots),
        refs=tuple(refs) if refs is not None else tuple(Ref("main", one.id, "branch") for one in snapshots[-1:]),
        metadata_files=1,
        small_files=small_files(dates.values()),
        small_files_waiting=small_files_waiting(files, dates.values(), settings),
        dates=dates,
    )
