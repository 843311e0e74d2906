"""Small raw files, small declarations, and a look at the table that is not ours."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import Table

from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec, parse_table
from iceberg_assets.spec.names import STATE_NAMESPACE, slug
from iceberg_assets.tables.claims import BRANCH_PREFIX, LedgerState
from iceberg_assets.tables.fields import Field
from iceberg_assets.tables.fit import fit
from iceberg_assets.tables.footers import read_footers
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.source import RawFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

D1, D2, D3 = date(2013, 1, 1), date(2013, 1, 2), date(2013, 1, 3)


def no_spark() -> "SparkSession":
    """For what must not need a JVM."""
    raise AssertionError("a Spark session was asked for")


class Killed(BaseException):
    """Ends an append as SIGKILL would: no handler of ours catches it."""


def kill_at(step: str) -> Callable[[str], None]:
    """An ``on_step`` that dies right after the step."""

    def on_step(reached: str) -> None:
        if reached == step:
            raise Killed(step)

    return on_step


@dataclass(frozen=True)
class Feed:
    """One table's declaration and the folder that its raw files land in."""

    spec: TableSpec
    raw: Path
    profile: Profile

    def land(self, day: date, name: str, ids: Iterable[int], *, on: date | None = None, **columns: Any) -> Path:
        """A file of one row an id under the folder of ``day``, with timestamps of ``on``."""
        ids = list(ids)
        moment = datetime.combine(on or day, datetime.min.time(), UTC) + timedelta(hours=9)
        return self.land_table(
            day,
            name,
            pa.table(
                {
                    "id": pa.array(ids, pa.int64()),
                    "ts": pa.array([moment] * len(ids), pa.timestamp("us", tz="UTC")),
                    "carrier": pa.array(["AA", "UA"] * len(ids), pa.string())[: len(ids)],
                    **columns,
                }
            ),
        )

    def land_table(self, day: date, name: str, table: pa.Table) -> Path:
        """The table as a file under the folder of ``day``."""
        path = self.raw / day.isoformat() / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
        return path

    @property
    def table(self) -> Table:
        """The table as PyIceberg sees it now."""
        return self.profile.pyiceberg().load_table(self.spec.table)

    def ids(self) -> list[int]:
        """Every id in main, sorted, as often as it is there."""
        ids: list[int] = self.table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist()
        return sorted(ids)

    def branches(self) -> set[str]:
        """Staging branches."""
        return {name for name in self.table.metadata.refs if name.startswith(BRANCH_PREFIX)}

    def main_snapshots(self) -> int:
        """Snapshots in main's history."""
        parents = {snapshot.snapshot_id: snapshot.parent_snapshot_id for snapshot in self.table.metadata.snapshots}
        at, count = self.table.metadata.current_snapshot_id, 0
        while at is not None:
            at, count = parents[at], count + 1
        return count

    def ledger(self) -> LedgerState:
        """The ledger's state."""
        return Ledger(self.profile, self.spec, str(self.table.metadata.table_uuid)).read()

    def ledger_rows(self) -> list[dict[str, Any]]:
        """The ledger's rows, as they are stored."""
        name = (STATE_NAMESPACE, f"ledger_{slug(*self.spec.table)}")
        rows: list[dict[str, Any]] = self.profile.pyiceberg().load_table(name).scan().to_arrow().to_pylist()
        return rows


def columns_of(*paths: Path) -> tuple[Field, ...]:
    """The columns that a table made of these files gets."""
    files = [RawFile(str(path), path.stat().st_size, "1", D1) for path in paths]
    return fit(read_footers(files)[0], (), "evolve").columns


def make_feed(profile: Profile, raw: Path, table: str | list[str], **changes: Any) -> Feed:
    """A feed of ``id``, ``ts`` and ``carrier``, by day and bucket."""
    attributes: Mapping[str, Any] = {
        "table": table,
        "source": {"path": f"{raw}/%Y-%m-%d/*.parquet"},
        "dates": {"column": "ts", "start": "2013-01-01", "end": "2013-01-31"},
        "partition_by": [{"col": "ts", "type": "date", "func": "day"}, {"col": "carrier", "type": "bucket", "size": 2}],
        **changes,
    }
    return Feed(parse_table(attributes, root=raw, variables={}, where="test"), raw, profile)
