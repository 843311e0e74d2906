"""``Attempts``: what the history tells a plan of earlier tries, for all tables of a catalog by one read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_assets.history.store import OUTCOMES, Wanted, read
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Attempt, Operation, Status

_COLUMNS = ("id", "at", "table", "operation", "dates", "status", "productive", "shadow", "digests")


@dataclass(frozen=True)
class Attempts:
    """The outcomes of a catalog as Arrow keeps them, some 100 bytes each, so that a table costs no read of its own."""

    _rows: pa.Table

    @classmethod
    def read(cls, profile: Profile, since: datetime | None = None) -> "Attempts":
        """All that the history keeps, or what is newer; none where nothing was ever written."""
        found = read(profile, OUTCOMES, Wanted(since=since), _COLUMNS).select(_COLUMNS)
        done = pc.and_(pc.invert(found["shadow"]), pc.is_in(found["operation"], pa.array([*Operation])))
        return cls(found.filter(done))

    def of(self, table: str) -> Sequence[Attempt]:
        """Those on a table, ``namespace.table``, in no order: one for each date of each outcome."""
        rows = {row["id"]: row for row in self._rows.filter(pc.equal(self._rows["table"], table)).to_pylist()}
        return [
            Attempt(Operation(row["operation"]), day, _utc(row["at"]), Status(row["status"]), row["productive"], digest)
            for row in rows.values()
            for day, digest in zip(row["dates"], row["digests"] or [""] * len(row["dates"]), strict=True)
        ]


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
