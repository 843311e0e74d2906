"""What every operation takes and gives."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import TableHealth, read_health
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Outcome, TableSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Session = Callable[[], "SparkSession"]
"""Gives the Spark session; called only where there is work, so that finding none starts no JVM."""


@dataclass(frozen=True)
class Maintained:
    """What an operation did.

    Attributes:
        outcomes: by date; of an operation on the whole table, the same for each.
    """

    before: TableHealth
    after: TableHealth
    outcomes: Mapping[date, Outcome]


def health_of(profile: Profile, spec: TableSpec) -> TableHealth:
    """The table's health now.

    Raises:
        ConfigurationError: there is no such table.
    """
    health = read_health(profile, spec)
    if health is None:
        raise ConfigurationError(
            f"there is no table {spec.name} in the catalog '{profile.catalog.name}' of profile '{profile.name}': "
            + ("materialize a date of it first" if spec.source else "its writer has to create it first")
        )
    return health


def on_the_table(
    profile: Profile, spec: TableSpec, days: Iterable[date], operate: Callable[[TableHealth], Outcome]
) -> Maintained:
    """Run an operation that is about the whole table once, and give each date its outcome."""
    started = time.monotonic()
    before = health_of(profile, spec)
    outcome = operate(before)
    outcome = replace(outcome, seconds=time.monotonic() - started)
    return Maintained(before, health_of(profile, spec), dict.fromkeys(days, outcome))
