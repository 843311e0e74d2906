"""``gc.enabled=false`` of a table: switched on while its snapshots or orphans go, and off again.

The table remembers that it is switched, by a property set in the same commit; so a run that is killed leaves word of
it, and whoever takes the table's lease next puts it back.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyiceberg.exceptions import CommitFailedException

from iceberg_assets.maintenance.engine import EngineError, execute
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session, literal
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.target import PYICEBERG_WRITES, existing_target, load_target, sql_name

GC_ENABLED = "gc.enabled"
BEFORE = "iceberg-assets.gc-enabled-before"
"""What ``gc.enabled`` was before a run of ours switched it on."""

_TRIES = 10


def gc_enabled(properties: Mapping[str, str]) -> bool:
    """Whether the table's owner lets files of it be deleted: not what a run has switched on for itself."""
    return properties.get(BEFORE, properties.get(GC_ENABLED, "true")).lower() == "true"


@contextmanager
def switched_on(spark: Session, profile: Profile, spec: TableSpec) -> Iterator[None]:
    """``gc.enabled`` for as long as the block lasts. To be called under the table's lease."""
    properties = existing_target(profile, spec).properties
    if gc_enabled(properties):
        yield
        return
    _change(spark, profile, spec, {GC_ENABLED: "true", BEFORE: properties[GC_ENABLED]}, ())
    try:
        yield
    finally:
        put_back(spark, profile, spec)


def put_back(spark: Session, profile: Profile, spec: TableSpec) -> None:
    """Switch off again what is switched on. What somebody else has set since then stands."""
    table = load_target(profile, spec)
    if table is None or (before := table.properties.get(BEFORE)) is None:
        return
    ours = table.properties.get(GC_ENABLED) == "true"
    _change(spark, profile, spec, {GC_ENABLED: before} if ours else {}, (BEFORE,))


def _change(
    spark: Session, profile: Profile, spec: TableSpec, given: Mapping[str, str], taken: tuple[str, ...]
) -> None:
    """Set and remove properties in one commit; of a table that PyIceberg cannot write, in one for each of the two.

    There they are set first: killed in between, it is as it was before, and still known to be so.
    """
    for attempt in range(1, _TRIES + 1):
        table = existing_target(profile, spec)
        try:
            if table.metadata.format_version > PYICEBERG_WRITES:
                for statement in _statements(given, taken):
                    execute(spark(), f"ALTER TABLE {sql_name(profile, spec)} {statement}")
                return
            with table.transaction() as change:
                if given:
                    change.set_properties(dict(given))
                if taken:
                    change.remove_properties(*taken)
            return
        except (CommitFailedException, EngineError) as error:
            passing = isinstance(error, CommitFailedException) or error.conflict
            if attempt == _TRIES or not passing:
                raise


def _statements(given: Mapping[str, str], taken: tuple[str, ...]) -> Iterator[str]:
    if given:
        pairs = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in given.items())
        yield f"SET TBLPROPERTIES ({pairs})"
    if taken:
        yield f"UNSET TBLPROPERTIES IF EXISTS ({', '.join(literal(name) for name in taken)})"
