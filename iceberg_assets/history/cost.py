"""What maintenance cost and saved, by table. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from iceberg_assets.history.record import UNFINISHED, Record
from iceberg_assets.history.saved import BYTES, FILES, MANIFESTS, SNAPSHOTS
from iceberg_assets.spec import Status


@dataclass(frozen=True)
class Cost:
    """Of one table, over some time.

    Attributes:
        outcomes: how many there were; ``unproductive`` of them gained nothing, ``unfinished`` failed or were partial.
        seconds: of work, summed over what ran side by side; of a Spark session that had to be started, its start, too.
        files, bytes, snapshots, manifests: so many fewer.
    """

    table: str
    outcomes: int
    unproductive: int
    unfinished: int
    seconds: float
    files: int
    bytes: int
    snapshots: int
    manifests: int


def costs(records: Iterable[Record]) -> tuple[Cost, ...]:
    """By table, the most seconds first. What was only planned cost nothing and saved nothing."""
    by_table: dict[str, list[Record]] = {}
    for one in records:
        if not one.shadow:
            by_table.setdefault(one.table, []).append(one)
    found = [_cost(table, of_table) for table, of_table in by_table.items()]
    return tuple(sorted(found, key=lambda cost: (-cost.seconds, cost.table)))


def _cost(table: str, records: list[Record]) -> Cost:
    def total(key: str) -> int:
        return round(sum(one.actual.get(key, 0) for one in records))

    return Cost(
        table,
        len(records),
        sum(one.status is Status.DONE and not one.productive for one in records),
        sum(one.status in UNFINISHED for one in records),
        round(sum(one.seconds for one in records), 3),
        total(FILES),
        total(BYTES),
        total(SNAPSHOTS),
        total(MANIFESTS),
    )
