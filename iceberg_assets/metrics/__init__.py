"""Figures for whoever watches from outside: how tables are, and how the last maintenance of each ended. No JVM."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from iceberg_assets.health import TableHealth, read_health
from iceberg_assets.history import Record, Wanted, read_records
from iceberg_assets.metrics.figures import Figure, of_history, of_table
from iceberg_assets.metrics.opentelemetry import record
from iceberg_assets.metrics.prometheus import exposition
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec

__all__ = ["Figure", "collect", "exposition", "record"]

_LAST = timedelta(days=31)
"""So far back the last outcomes are looked for."""


def collect(tables: Sequence[tuple[TableSpec, Profile]], now: datetime) -> list[Figure]:
    """The figures of these tables as they are, and of all that the history of their catalogs has."""
    profiles = {profile.name: profile for _, profile in tables}
    found = [figure for spec, profile in tables for figure in of_table(profile.name, spec.name, _look(profile, spec))]
    return [*found, *(figure for one in profiles.values() for figure in of_history(one.name, _records(one, now)))]


def _look(profile: Profile, spec: TableSpec) -> TableHealth | None:
    try:
        return read_health(profile, spec)
    except Exception:  # noqa: BLE001 (that it cannot be read is a figure, too)
        return None


def _records(profile: Profile, now: datetime) -> Iterator[Record]:
    return (one for one in read_records(profile, Wanted(since=now - _LAST)) if not one.shadow)
