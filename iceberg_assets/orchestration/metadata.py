"""Facts and outcomes as Dagster metadata: one meaning for each key, on every event, so that they plot."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime

import dagster as dg
from pyiceberg.schema import Schema

from iceberg_assets.health import TableHealth, pinned_by
from iceberg_assets.maintenance import Preview
from iceberg_assets.spec import Outcome, Status, TableSpec
from iceberg_assets.spec.table import format_identifier
from iceberg_assets.tables import AppendOutcome

DIGEST = "iceberg/digest"
PRODUCTIVE = "iceberg/productive"
STATUS = "iceberg/status"
REASON = "iceberg/reason"

_TABLED = 50
"""So many problems are listed in a table; the rest is counted, so that the page stays readable."""

Metadata = dict[str, dg.TableSchemaMetadataValue | str | int | float | bool]

EventMetadata = Callable[[date, Mapping[str, object]], Metadata]
"""Everything that an append, a maintenance or an observation says about one date: given the date, and what was done."""


def partition_metadata(health: TableHealth, day: date) -> Metadata:
    """The files of one date."""
    found = health.dates.get(day)
    if found is None:
        return {
            "iceberg/data_files": 0,
            "iceberg/small_files": 0,
            "iceberg/small_files_waiting": 0,
            "iceberg/delete_files": 0,
            "iceberg/delete_ratio": 0.0,
            "iceberg/old_spec_files": 0,
            "iceberg/total_bytes": 0,
            "iceberg/average_file_bytes": 0.0,
            "dagster/partition_row_count": 0,
            DIGEST: "",
        }
    return {
        "iceberg/data_files": found.data_files,
        "iceberg/small_files": found.small_files,
        "iceberg/small_files_waiting": found.small_files_waiting,
        "iceberg/delete_files": found.delete_files,
        # Always a float: a key that is once a whole number and once not is two series to a plot.
        "iceberg/delete_ratio": float(round(found.delete_ratio, 4)),
        "iceberg/old_spec_files": found.old_spec_files,
        "iceberg/total_bytes": found.total_bytes,
        "iceberg/average_file_bytes": float(found.average_file_bytes),
        DIGEST: found.digest,
        **_known("dagster/partition_row_count", found.rows),
    }


def table_metadata(spec: TableSpec, health: TableHealth) -> Metadata:
    """The table as a whole."""
    pins = pinned_by(health, spec.maintenance.expire, datetime.now(UTC))
    return {
        "iceberg/table_data_files": health.data_files,
        "iceberg/table_small_files": health.small_files,
        "iceberg/table_small_files_waiting": health.small_files_waiting,
        "iceberg/table_delete_files": health.delete_files,
        "iceberg/table_delete_ratio": float(round(health.delete_ratio, 4)),
        "iceberg/table_old_spec_files": health.old_spec_files,
        "iceberg/table_total_bytes": health.total_bytes,
        "iceberg/table_average_file_bytes": float(health.average_file_bytes),
        "iceberg/table_snapshots": len(health.snapshots),
        "iceberg/table_pinned_snapshots": len({one.id for held in pins.values() for one in held}),
        "iceberg/pinned_by": ", ".join(f"{name}: {len(held)}" for name, held in sorted(pins.items())),
        "iceberg/table_manifests": len(health.manifests),
        "iceberg/table_metadata_files": health.metadata_files,
        "dagster/table_name": format_identifier(health.table),
        "dagster/uri": health.location,
        "dagster/column_schema": column_schema(health.schema),
        # As text: a browser's numbers are too short for Iceberg's.
        "iceberg/snapshot_id": str(health.snapshot_id),
        **_known("dagster/row_count", health.rows),
    }


def _known(key: str, value: int | None) -> Metadata:
    """Rows that deletes leave unknown are not shown: unknown is not zero."""
    return {} if value is None else {key: value}


def column_schema(schema: Schema) -> dg.TableSchemaMetadataValue:
    """The table's columns for the asset's page."""
    return dg.TableSchemaMetadataValue(
        dg.TableSchema(
            columns=[
                dg.TableColumn(
                    name=field.name,
                    type=str(field.field_type),
                    description=field.doc,
                    constraints=dg.TableColumnConstraints(nullable=not field.required),
                )
                for field in schema.fields
            ]
        )
    )


def outcome_metadata(outcome: Outcome) -> Metadata:
    """What was done, and why."""
    return {
        STATUS: outcome.status.value,
        REASON: outcome.reason,
        PRODUCTIVE: outcome.productive,
        "iceberg/seconds": round(outcome.seconds, 3),
        **outcome.details,
    }


def problem_table(outcome: AppendOutcome) -> dg.MarkdownMetadataValue:
    """What the footers of a date's files show to be wrong, file by file."""
    cells = [
        (problem.file.path, problem.column, problem.what, problem.way_out) for problem in outcome.problems[:_TABLED]
    ]
    lines = [
        "| file | column | what | way out |",
        "|---|---|---|---|",
        *(f"| {' | '.join(map(_cell, row))} |" for row in cells),
    ]
    if (more := len(outcome.problems) - _TABLED) > 0:
        lines.append(f"\nand {more} more")
    return dg.MetadataValue.md("\n".join(lines))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def event_metadata(spec: TableSpec, health: TableHealth) -> EventMetadata:
    """What is said of the table at that moment; of the table as a whole it is worked out once for all dates."""
    whole = table_metadata(spec, health)

    def of(day: date, said: Mapping[str, object]) -> Metadata:
        return {**partition_metadata(health, day), **whole, **said}  # type: ignore[dict-item]

    return of


def observed(reason: str) -> Metadata:
    """An observation's own status: it was made, and ``reason`` is what was decided of it."""
    return {STATUS: Status.DONE.value, REASON: reason}


def preview_metadata(preview: Preview) -> dict[str, object]:
    """What would be done: figures, what is worth knowing, and the files and snapshots that would go."""
    largest = sorted(preview.removes.items(), key=lambda one: (-one[1], one[0]))
    records = [dg.TableRecord({"file": path, "bytes": size}) for path, size in largest[:_TABLED]]
    files = dg.TableSchema([dg.TableColumn("file", "string"), dg.TableColumn("bytes", "int")])
    return {
        **preview.details,
        "iceberg/notes": "; ".join(preview.notes),
        "iceberg/would_remove_files": len(preview.removes),
        "iceberg/would_remove_bytes": sum(preview.removes.values()),
        "iceberg/would_remove_snapshots": len(preview.snapshots),
        "iceberg/would_remove": dg.MetadataValue.table(records, files),
    }
