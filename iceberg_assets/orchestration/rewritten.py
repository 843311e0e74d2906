"""Which files a compaction took from a date and which it put there, as a table for the UI."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import PurePosixPath

import dagster as dg

from iceberg_assets.health import DataFile, compaction_unit
from iceberg_assets.maintenance import Maintained
from iceberg_assets.spec import TableSpec

_TABLED = 10
"""So many files of each kind are listed for a date; the rest is counted."""

_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("when", "string", "before the compaction, or after it"),
        dg.TableColumn("file", "string", "the end of its path"),
        dg.TableColumn("bytes", "int"),
        dg.TableColumn("rows", "int"),
    ]
)


@dataclass(frozen=True)
class Rewritten:
    """The files of one date that a compaction replaced, and what it replaced them by; the largest first."""

    before: tuple[DataFile, ...]
    after: tuple[DataFile, ...]


def rewritten(spec: TableSpec, result: Maintained, now: datetime) -> dict[date, Rewritten]:
    """By date, what was rewritten; dates that were left as they were are left out."""
    there, left = {file.path for file in result.before.files}, {file.path for file in result.after.files}
    added = [file for file in result.after.files if file.path not in there]
    found = {}
    for day in result.outcomes:
        health = result.before.dates.get(day)
        gone = [file for group in (health.groups if health else ()) for file in group.files if file.path not in left]
        if gone:
            unit = compaction_unit(spec, result.before, day, now)
            came = [file for file in added if file.within(unit.first, unit.last)]
            found[day] = Rewritten(_largest_first(gone), _largest_first(came))
    return found


def _largest_first(files: Sequence[DataFile]) -> tuple[DataFile, ...]:
    return tuple(sorted(files, key=lambda file: (-file.size, file.path)))


def file_table(of_date: Rewritten) -> dg.TableMetadataValue:
    """Path, bytes and rows of the files before and after."""
    records: list[dict[str, str | int | float | bool | None]] = []
    for when, files in (("before", of_date.before), ("after", of_date.after)):
        records += [
            {"when": when, "file": PurePosixPath(file.path).name, "bytes": file.size, "rows": file.rows}
            for file in files[:_TABLED]
        ]
        if rest := files[_TABLED:]:
            size, rows = sum(file.size for file in rest), sum(file.rows for file in rest)
            records.append({"when": when, "file": f"and {len(rest)} more", "bytes": size, "rows": rows})
    return dg.MetadataValue.table([dg.TableRecord(record) for record in records], _COLUMNS)
