"""One table under fire: its raw files, with the rows that must come of them, and a look at it from outside."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError

from iceberg_assets_tests.faults.runner import Runner
from iceberg_assets_tests.faults.schedule import Landing

OVERDUE = 2 * 3600
"""Seconds that put a clock past every claim's deadline."""

# Written out, not imported: what the product calls them is one of the things that may go wrong.
_STAGE = "iceberg_assets_stage_"
_STATE = "iceberg_assets_state"


@dataclass(frozen=True)
class Findings:
    """What is wrong with the table; all empty: nothing.

    Attributes:
        lost: ids of source rows that are not in main.
        doubled: ids that are there more than once.
        foreign: ids that are there, and in no raw file: of rows that were to be replaced, for example.
        branches: stage branches.
        ledger: sentences about files that the ledger has wrong.
    """

    lost: tuple[int, ...] = ()
    doubled: tuple[int, ...] = ()
    foreign: tuple[int, ...] = ()
    branches: tuple[str, ...] = ()
    ledger: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any((self.lost, self.doubled, self.foreign, self.branches, self.ledger))


@dataclass
class World:
    """A project's folder and one table in it.

    Attributes:
        landed: by path of a raw file that is there: the ids of its rows, each of which exists once in the world.
        declared: further attributes of the table's declaration.
    """

    root: Path
    table: str
    declared: Mapping[str, Any] = field(default_factory=dict)
    landed: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.root / "pyproject.toml").touch()
        self._starts, self._ids, self._files = itertools.count(), itertools.count(), itertools.count()

    @property
    def where(self) -> dict[str, Any]:
        """What a child has to know."""
        return {"table": self.table, "raw": str(self.raw), "declared": dict(self.declared)}

    @property
    def raw(self) -> Path:
        return self.root / "raw" / self.table

    def land(self, landing: Landing) -> Sequence[date]:
        """Land the files; returns their dates."""
        for day, files in landing.items():
            for rows in files:
                self._write(day, list(itertools.islice(self._ids, rows)))
        return sorted(landing)

    def land_anew(self, days: Sequence[date]) -> None:
        """Files of other names in place of those of the dates: every second row is there again, the rest are new."""
        for path in [path for path in self.landed if Path(path).parent.name in map(str, days)]:
            ids = self.landed.pop(path)
            Path(path).unlink()
            again = ids[::2]
            self._write(
                date.fromisoformat(Path(path).parent.name),
                again + list(itertools.islice(self._ids, 1 + len(ids) - len(again))),
            )

    def _write(self, day: date, ids: list[int]) -> None:
        path = self.raw / day.isoformat() / f"{next(self._files):06}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        moment = datetime.combine(day, datetime.min.time(), UTC) + timedelta(hours=9)
        columns = {
            "id": pa.array(ids, pa.int64()),
            "ts": pa.array([moment] * len(ids), pa.timestamp("us", tz="UTC")),
            "carrier": pa.array([("AA", "UA")[id_ % 2] for id_ in ids]),
        }
        pq.write_table(pa.table(columns), path)
        self.landed[str(path)] = ids

    def start(self) -> Runner:
        """A new runner for this project's tables."""
        return Runner(self.root, self.root / f"runner-{self.table}-{next(self._starts)}.log")

    def catalog(self) -> Catalog:
        """As PyIceberg alone knows it."""
        uri, warehouse = f"sqlite:///{self.root}/data/catalog.db?timeout=60", f"file://{self.root}/data/warehouse"
        return load_catalog("local", type="sql", uri=uri, warehouse=warehouse)

    def look(self) -> Findings:
        """Hold the table against what was landed, by PyIceberg alone."""
        catalog = self.catalog()
        table = catalog.load_table(self.table)
        seen = Counter(table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())
        wanted = {id_ for ids in self.landed.values() for id_ in ids}
        return Findings(
            lost=tuple(sorted(wanted - seen.keys())),
            doubled=tuple(sorted(id_ for id_, times in seen.items() if times > 1)),
            foreign=tuple(sorted(seen.keys() - wanted)),
            branches=self.branches(),
            ledger=tuple(self._mistakes(catalog, str(table.metadata.table_uuid), seen)),
        )

    def branches(self) -> tuple[str, ...]:
        """Stage branches."""
        refs = self.catalog().load_table(self.table).metadata.refs
        return tuple(name for name in refs if name.startswith(_STAGE))

    def _mistakes(self, catalog: Catalog, table_uuid: str, seen: Counter[int]) -> list[str]:
        """Confirmed are the files whose rows are in main, each by one claim; and no claim is left open.

        Of a date that was replaced only that claim counts, and those after it.
        """
        try:
            ledger = catalog.load_table((_STATE, f"ledger_{self.table.replace('.', '__')}"))
        except NoSuchTableError:
            return ["there is no ledger"]
        rows = [row for row in ledger.scan().to_arrow().to_pylist() if row["table_uuid"] == table_uuid]
        claimed = [row for row in rows if row["event"] == "claimed"]
        ended = {row["claim"] for row in rows if row["event"] != "claimed"}
        confirmed = {row["claim"] for row in rows if row["event"] == "confirmed"}
        files = [row for row in claimed if row["path"] and row["claim"] in confirmed]
        since: dict[date, int] = {}
        for row in files:
            if row["replaces"]:
                since[row["day"]] = max(row["n"], since.get(row["day"], 0))
        times = Counter(row["path"] for row in files if row["n"] >= since.get(row["day"], 0))
        mistakes = [f"claim {claim} is open" for claim in {row["claim"] for row in claimed} - ended]
        if strangers := times.keys() - self.landed.keys():
            mistakes.append(f"confirmed, and in no raw folder: {sorted(strangers)}")
        for path, ids in self.landed.items():
            are_in = all(seen[id_] for id_ in ids)
            if times[path] != are_in:
                mistakes.append(f"{path}: confirmed {times[path]} times, and its rows are {'' if are_in else 'not '}in")
        return mistakes
