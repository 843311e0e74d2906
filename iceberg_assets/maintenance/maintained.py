"""What every operation takes and gives."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import TableHealth, read_health
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Outcome, TableSpec


@dataclass(frozen=True)
class Maintained:
    """What an operation did.

    Attributes:
        outcomes: by date; of an operation on the whole table, the same for each.
    """

    before: TableHealth
    after: TableHealth
    outcomes: Mapping[date, Outcome]


def health_of(profile: Profile, spec: TableSpec, before: TableHealth | None = None) -> TableHealth:
    """The table's health now; ``before``, an earlier one, spares reading again what is as it was.

    Raises:
        ConfigurationError: there is no such table.
    """
    health = read_health(profile, spec, before=before)
    if health is None:
        raise ConfigurationError(
            f"there is no table {spec.name} in the catalog '{profile.catalog.name}' of profile '{profile.name}': "
            f"{spec.way_into_being}"
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
    return Maintained(before, health_of(profile, spec, before), dict.fromkeys(days, outcome))
