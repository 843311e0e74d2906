"""What has failed in a run, told to whoever the profiles name: the sensor that the daemon asks after each failure."""

from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import date

import dagster as dg

from iceberg_assets.notify import Failed, notify
from iceberg_assets.orchestration.event_log import days_of, selected
from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.spec import Operation

FAILURES = "iceberg_failures"

_APPEND = "append"


def failure_sensor(tables: Sequence[TableAsset], status: dg.DefaultSensorStatus) -> dg.SensorDefinition | None:
    """The sensor over these tables; None: no profile of theirs says whom to tell.

    It hears of every failed run of the location, also of those that "Materialize" in the UI started.
    """
    heard = [table for table in tables if table.profile.on_failure.tells]
    if not heard:
        return None

    @dg.run_failure_sensor(
        name=FAILURES,
        default_status=status,
        description="Tells of failed appends and maintenance, as on_failure of the table's profile says.",
    )
    def tell(context: dg.RunFailureSensorContext) -> None:
        for said in tell_of_run(context, heard):
            context.log.warning(said)

    return tell


def tell_of_run(context: dg.RunFailureSensorContext, tables: Sequence[TableAsset]) -> Iterator[str]:
    """Tell of a failed run, once for each profile that its tables are of; yields what went wrong with that."""
    run = context.dagster_run
    reasons = {event.step_key: reason_of(event) for event in context.get_step_failure_events()}
    died = context.failure_event.message or "the run died"
    by_profile: dict[str, list[TableAsset]] = {}
    for table in tables:
        by_profile.setdefault(table.profile.name, []).append(table)
    for of_profile in by_profile.values():
        failed = [
            one
            for table in of_profile
            for one in _failed(table, selected(run, table), tuple(days_of(run.tags)), reasons, died)
        ]
        yield from notify(of_profile[0].profile, run.run_id, failed)


def _failed(
    table: TableAsset,
    about: Set[dg.AssetKey],
    days: tuple[date, ...],
    reasons: Mapping[str | None, str],
    died: str,
) -> Iterator[Failed]:
    """The steps of the table that failed; where none did, all that the run was about: it died in one of them."""
    names = {table.key: _APPEND} | {table.key_of(operation): operation.value for operation in Operation}
    mine = {key: name for key, name in names.items() if key in about}
    steps = {"__".join(key.path): name for key, name in mine.items()}
    if told := steps.keys() & reasons.keys():
        for step in sorted(told):
            yield Failed(table.spec.name, steps[step], days, reasons[step])
    elif not reasons:
        for name in mine.values():
            yield Failed(table.spec.name, name, days, died)


def reason_of(event: dg.DagsterEvent) -> str:
    """Why a step failed, in its own words where it has some."""
    data = event.step_failure_data
    given = data.user_failure_data
    if given is not None and given.description:
        return given.description
    cause = data.error.cause if data.error and data.error.cause else data.error
    return cause.message.strip() if cause else "the step failed"
