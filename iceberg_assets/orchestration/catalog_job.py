"""The whole-catalog job as Dagster runs it: one op in one process, and a schedule."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Literal

import dagster as dg
from pydantic import Field

from iceberg_assets.history import Who
from iceberg_assets.job import (
    Ended,
    JobSettings,
    Summary,
    attempts_of,
    find,
    read_settings,
    reported,
    require_catalog,
    run,
)
from iceberg_assets.job.summary import NAMED
from iceberg_assets.notify import Failed, notify
from iceberg_assets.orchestration.failures import reason_of
from iceberg_assets.orchestration.resources import iceberg_spark, resource_key
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spec.model import SpecModel
from iceberg_assets.spec.names import slug


class CatalogJobAttributes(SpecModel):
    """The job's YAML.

    Attributes:
        file: its settings, as ``iceberg-assets maintain`` takes them; a relative path from the project's folder.
        profile: of the catalog; unset: that of ``PROFILE``, else ``local``.
        name: of the job; its schedule's is ``<name>_schedule``.
        cron: when it runs; unset: when somebody starts it.
        timezone: of ``cron``.
        schedule: whether it runs without being switched on in the UI.
    """

    file: str
    profile: str | None = None
    name: str = Field(default="maintain", pattern=r"^[A-Za-z0-9_]+$")
    cron: str | None = None
    timezone: str = "UTC"
    schedule: Literal["running", "stopped"] = "stopped"


@dataclass(frozen=True)
class CatalogJob:
    """The job of one catalog.

    Attributes:
        root: the project's folder, which profiles are read from.
        landing_places: the folders in which raw files of the location's tables land.
        profiles: names of those of the location's tables.
    """

    attributes: CatalogJobAttributes
    settings: JobSettings
    profile: Profile
    root: Path
    landing_places: Sequence[str] = ()
    profiles: Sequence[str] = ()


def catalog_job(
    attributes: CatalogJobAttributes, root: Path, profiles: Sequence[str] = (), landing_places: Sequence[str] = ()
) -> CatalogJob:
    """The job with its file read.

    Raises:
        ConfigurationError: the file is not usable, or is about another catalog than the profile's.
    """
    settings, profile = read_settings(root / attributes.file), load_profile(attributes.profile, root)
    require_catalog(profile, settings)
    return CatalogJob(attributes, settings, profile, root, landing_places, profiles)


def catalog_job_definitions(job: CatalogJob) -> dg.Definitions:
    """Job and schedule, also for locations that are not made of components.

    Where the profile says whom to tell of failures there is a sensor, too.
    """
    attributes, key = job.attributes, resource_key(job.profile)
    made = _job(job, key)
    schedules = []
    if attributes.cron is not None:
        schedules.append(
            dg.ScheduleDefinition(
                name=f"{attributes.name}_schedule",
                job=made,
                cron_schedule=attributes.cron,
                execution_timezone=attributes.timezone,
                default_status=dg.DefaultScheduleStatus[attributes.schedule.upper()],
            )
        )
    return dg.Definitions(
        jobs=[made],
        schedules=schedules,
        sensors=[_told_of_death(job, made)] if job.profile.on_failure.tells else [],
        resources={key: iceberg_spark(job.profile.name, job.root)},
    )


def _job(job: CatalogJob, key: str) -> dg.JobDefinition:
    what = f"The tables of the catalog '{job.profile.catalog.name}' maintained as {job.attributes.file} says."

    # Two runs at once would only wait for each other's leases.
    @dg.op(name=f"{job.attributes.name}_catalog", description=what, required_resource_keys={key}, pool=_pool(job))
    def maintain_catalog(context: dg.OpExecutionContext) -> None:
        summary = _maintained(context, job, key)
        context.log.info(_counts(summary))
        context.add_output_metadata(_metadata(summary))
        if summary.bad:
            raise dg.Failure(
                f"{_counts(summary)}; {'; '.join(summary.complaints())}"[:5_000],
                metadata=_metadata(summary),
                # What failed fails again at once; the next night is another try.
                allow_retries=False,
            )

    @dg.job(name=job.attributes.name, description=what, executor_def=dg.in_process_executor)
    def maintain() -> None:
        maintain_catalog()

    return maintain


def _told_of_death(job: CatalogJob, made: dg.JobDefinition) -> dg.SensorDefinition:
    """Who is told of failures hears of a run that ended before it could tell of its tables."""

    @dg.run_failure_sensor(
        name=f"{job.attributes.name}_failures",
        monitored_jobs=[made],
        default_status=dg.DefaultSensorStatus[job.attributes.schedule.upper()],
        description="Tells of runs of the job that died, as on_failure of its profile says.",
    )
    def tell(context: dg.RunFailureSensorContext) -> None:
        events = context.get_step_failure_events()
        # A failure with words of its own came after the run had told of each table.
        if any(event.step_failure_data.user_failure_data for event in events):
            return
        reason = reason_of(events[0]) if events else context.failure_event.message or "the run died"
        all_tables = Failed(f"catalog {job.profile.catalog.name}", None, (), reason)
        for said in notify(job.profile, context.dagster_run.run_id, [all_tables]):
            context.log.warning(said)

    return tell


def _maintained(context: dg.OpExecutionContext, job: CatalogJob, key: str) -> Summary:
    selection, summary = find(job.profile, job.settings), Summary()
    for note in selection.notes:
        context.log.info(note)
    # A run that is terminated ends by an exception here, which stops the job and waits for what is at hand.
    events = run(
        job.profile,
        job.settings,
        selection.objects,
        spark=lambda: getattr(context.resources, key).session,
        stop=Event(),
        history=attempts_of(job.profile),
        landing_places=job.landing_places,
        profiles=[load_profile(name, job.root) for name in job.profiles],
    )
    who = Who.here(job.profile, context.run_id)
    for event in reported(events, summary, job.profile, job.settings, who, context.log.warning):
        if isinstance(event, Ended):
            context.log.info(f"{event.name} {event.operation.value}: {event.status.value}: {event.reason}")
    return summary


def _pool(job: CatalogJob) -> str:
    return f"iceberg_catalog__{slug(job.profile.name)}"


def _counts(summary: Summary) -> str:
    return f"{summary.counts.total()} tables and views: {summary.counted}"


def _metadata(summary: Summary) -> dict[str, dg.MetadataValue]:
    """How many tables of each verdict, and a page of those on which something was done or is to be done."""
    touched = [(name, one) for name, one in summary.tables.items() if one.steps or name in summary.bad]
    touched.sort(key=lambda pair: pair[0] not in summary.bad)
    rows = [
        dg.TableRecord({"table": name, "verdict": one.verdict, "reason": one.reason[:500]})
        for name, one in touched[: 5 * NAMED]
    ]
    columns = [dg.TableColumn(name, "string") for name in ("table", "verdict", "reason")]
    counts = {f"iceberg/tables_{verdict}": dg.IntMetadataValue(number) for verdict, number in summary.counts.items()}
    return {**counts, "iceberg/tables": dg.MetadataValue.table(rows, dg.TableSchema(columns))}
