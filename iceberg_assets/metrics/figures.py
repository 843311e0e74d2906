"""``Figure``: one number with its labels, and which there are. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from iceberg_assets.health import TableHealth
from iceberg_assets.history import Record
from iceberg_assets.spec import Status


@dataclass(frozen=True)
class Figure:
    """A gauge's value.

    Attributes:
        name: as Prometheus wants it; ``help`` is its sentence.
    """

    name: str
    help: str
    labels: Mapping[str, str]
    value: float


_HEALTH: tuple[tuple[str, str, Callable[[TableHealth], float | None]], ...] = (
    ("data_files", "Live data files.", lambda one: one.data_files),
    ("small_files", "Files that a compaction would take away now.", lambda one: one.small_files),
    ("small_files_waiting", "Small files below the rule.", lambda one: one.small_files_waiting),
    ("delete_files", "Live delete files.", lambda one: one.delete_files),
    ("bytes", "Bytes of the live data files.", lambda one: one.total_bytes),
    ("rows", "Live rows, where that can be told.", lambda one: one.rows),
    ("snapshots", "Snapshots.", lambda one: len(one.snapshots)),
    ("manifests", "Manifests of the current snapshot.", lambda one: len(one.manifests)),
    ("metadata_files", "metadata.json files that the metadata log tracks.", lambda one: one.metadata_files),
)
_READABLE = "iceberg_assets_table_readable"
_LAST = "iceberg_assets_last_outcome"


def of_table(profile: str, table: str, health: TableHealth | None) -> Iterator[Figure]:
    """How a table is; None: it is not made yet, or cannot be read."""
    labels = {"profile": profile, "table": table}
    yield Figure(_READABLE, "Whether the table is there and its metadata can be read.", labels, float(bool(health)))
    for name, words, value in _HEALTH if health else ():
        if health and (number := value(health)) is not None:
            yield Figure(f"iceberg_assets_table_{name}", words, labels, float(number))


def of_history(profile: str, records: Iterable[Record]) -> Iterator[Figure]:
    """How the last outcome of each operation on each table ended, and when the last good one was.

    Args:
        records: oldest first.
    """
    last: dict[tuple[str, str], Record] = {}
    good: dict[tuple[str, str], Record] = {}
    for one in records:
        last[one.table, one.operation] = one
        if one.status in (Status.DONE, Status.NOTHING_TO_DO):
            good[one.table, one.operation] = one
    for (table, operation), one in sorted(last.items()):
        labels = {"profile": profile, "table": table, "operation": operation}
        for status in Status:
            words = "1 for the status that the last outcome had, 0 for the others."
            yield Figure(_LAST, words, {**labels, "status": status.value}, float(one.status is status))
        yield Figure(f"{_LAST}_seconds", "Seconds that the last outcome took.", labels, one.seconds)
        when = f"{_LAST}_timestamp_seconds"
        yield Figure(when, "When the last outcome was, in seconds since 1970.", labels, one.at.timestamp())
    for (table, operation), one in sorted(good.items()):
        labels = {"profile": profile, "table": table, "operation": operation}
        words = "When the last outcome was that did all that was due, in seconds since 1970."
        yield Figure("iceberg_assets_last_good_timestamp_seconds", words, labels, one.at.timestamp())
