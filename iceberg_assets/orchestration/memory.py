"""What a sensor knows of its tables from the ticks before. Losing it costs time, and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import groupby

import dagster as dg

from iceberg_assets.health import Doubted, ManifestCache, TableHealth, metadata_pointers, read_health
from iceberg_assets.orchestration.checks import doubts
from iceberg_assets.orchestration.event_log import Event, Events, attempts, touched_since
from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.spec import Attempt

_CLOCKS = timedelta(minutes=2)
"""Runs are stamped by the machine that stores them: so far apart its clock and this one may be."""

_MOST_FILES = 500_000
"""Data files that are kept in mind over all tables, some 200 MB; what exceeds them is read from the cache again."""


@dataclass
class _Known:
    """A table as it was looked at last."""

    pointer: str
    newest: date
    health: TableHealth
    history: Sequence[Attempt] | None = None
    shown: TableHealth | None = None
    doubted: Doubted = ()


@dataclass(frozen=True)
class Seen:
    """One table, as a decision needs it.

    Attributes:
        history: the attempts on it; none where there is no table to decide on.
        doubted: the rewrites that changed rows and are not settled.
        touched: something was committed or a run has ended since the tick before.
        shown: the health of which a tick before has shown every date.
    """

    health: TableHealth | None
    history: Sequence[Attempt]
    doubted: Doubted
    touched: bool
    shown: TableHealth | None = None


@dataclass
class Memory:
    """Healths by metadata pointer, events by storage id. A commit or a run makes it forget what may have changed."""

    _storage: str = ""
    _runs_seen: datetime | None = None
    _known: dict[dg.AssetKey, _Known] = field(default_factory=dict)
    _events: dict[int, Event | None] = field(default_factory=dict)

    def begin(self, instance: dg.DagsterInstance, tables: Sequence[TableAsset]) -> None:
        """Forget the attempts of tables that a run was about since the tick before."""
        storage, now = instance.storage_directory(), datetime.now(UTC)
        if storage != self._storage:
            self._storage, self._runs_seen, self._known, self._events = storage, None, {}, {}
        if self._runs_seen:
            for key in touched_since(instance, tables, self._runs_seen - _CLOCKS) & self._known.keys():
                self._known[key].history = None
        self._runs_seen = now

    def look(
        self,
        instance: dg.DagsterInstance,
        table: TableAsset,
        pointer: str | None,
        cache: ManifestCache,
        deadline: float,
    ) -> Seen:
        """The table at that metadata pointer; None: there is none.

        Raises:
            TimeoutError: the deadline passed; the next tick goes on from where this one came to.
        """
        if pointer is None:
            self._known.pop(table.key, None)
            return Seen(None, (), (), touched=True)
        known, newest = self._known.get(table.key), table.spec.dates.last(datetime.now(UTC))
        touched = known is None or known.pointer != pointer or known.history is None
        if known is None or (known.pointer, known.newest) != (pointer, newest):
            before = known.health if known else None
            health = read_health(table.profile, table.spec, before=before, cache=cache, deadline=deadline)
            if health is None:
                return Seen(None, (), (), touched=True)
            shown = known.shown if known else None
            known = self._known[table.key] = _Known(health.metadata_location, newest, health, shown=shown)
            self._bound(table.key)
        if known.history is None:
            known.history, known.doubted = attempts(self.events(instance), table, deadline), doubts(instance, table)
        return Seen(known.health, known.history, known.doubted, touched, known.shown)

    def showed(self, table: TableAsset) -> None:
        """Remember that every date of the table, as it was looked at last, is shown."""
        self._known[table.key].shown = self._known[table.key].health

    def events(self, instance: dg.DagsterInstance) -> Events:
        """The instance's events, those that were read earlier at hand."""
        return Events(instance, self._events)

    def _bound(self, newest: dg.AssetKey) -> None:
        held = sum(known.health.data_files for known in self._known.values())
        for key in list(self._known):
            if held <= _MOST_FILES:
                break
            if key != newest:
                held -= self._known.pop(key).health.data_files


def pointers(tables: Sequence[TableAsset]) -> Mapping[dg.AssetKey, str | Exception | None]:
    """Each table's metadata pointer; None: no such table; an exception: its catalog could not be asked."""
    found: dict[dg.AssetKey, str | Exception | None] = {}

    def name(table: TableAsset) -> str:
        return table.profile.name

    for _, group in groupby(sorted(tables, key=name), key=name):
        those = list(group)
        try:
            known = metadata_pointers(those[0].profile, [table.spec.table for table in those])
            found |= {table.key: known.get(table.spec.table) for table in those}
        except Exception as error:  # noqa: BLE001 (whatever is wrong with one catalog, the others are asked)
            found |= dict.fromkeys((table.key for table in those), error)
    return found
